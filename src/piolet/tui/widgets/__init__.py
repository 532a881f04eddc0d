"""The pure parts on Textual: each widget draws what a part of `piolet.tui` gives, and hands it keys and the mouse."""
