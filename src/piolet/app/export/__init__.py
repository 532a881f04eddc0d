"""A session as one self-contained HTML file."""
