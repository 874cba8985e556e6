"""ConsumeQueues: 20-byte entries that point into the log."""
