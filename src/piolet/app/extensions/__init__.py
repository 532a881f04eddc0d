"""Extensions: finding, loading, and the API that they are given."""
