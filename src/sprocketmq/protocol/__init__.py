"""Bytes to values and back: frames, headers, messages, bodies. No clock, no files, no sockets."""
