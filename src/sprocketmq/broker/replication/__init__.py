"""A master and its slaves: the log as a stream, acknowledgements that wait for copies, and the tables beside it."""
