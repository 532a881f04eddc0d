"""What the transcript and the lines around it are made of: pure functions from plain values and a frame to lines."""
