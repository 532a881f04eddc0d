"""Packages: bundles of extensions, skills, prompt templates and themes, named by a source in the settings."""
