"""From a record in the log to the entries of queue and index."""
