"""Writing topics: rows to batches to brokers."""
