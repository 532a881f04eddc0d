"""The full-screen face of a `Runtime`."""
