"""The public face for extension authors: everything that an extension imports stands here."""
