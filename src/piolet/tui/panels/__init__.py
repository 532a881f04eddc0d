"""What takes the place of the editor for a while: lists to choose from, the session tree, questions. Pure."""
