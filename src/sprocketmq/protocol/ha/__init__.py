"""Replication as bytes: the two streams of the HA port, and the small text files of controller mode. No I/O."""
