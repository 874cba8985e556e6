"""The CommitLog: appending, batches, flushing."""
