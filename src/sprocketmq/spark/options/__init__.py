"""Options of the source, the sink and the connection."""
