"""A client on plain sockets, without an event loop: for Spark's workers."""
