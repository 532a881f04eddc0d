"""Resources on disk: extensions, skills, prompt templates, themes and system texts; where they are, which win."""
