"""The requests of clients that have no room of their own: heartbeats, offsets, look-ups, request and reply."""
