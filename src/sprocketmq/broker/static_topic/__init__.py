"""Static topics: a fixed number of logical queues, each laid over queues of one broker after another."""
