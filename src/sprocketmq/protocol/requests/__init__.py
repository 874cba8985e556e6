"""The two requests that are read and written byte by byte: send and pull."""
