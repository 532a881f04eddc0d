"""Where tools act: files and processes behind one protocol."""
