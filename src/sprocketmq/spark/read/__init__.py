"""Reading topics: planning, batches, streams, tasks."""
