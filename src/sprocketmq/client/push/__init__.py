"""The push consumer: queues are shared out, pulled ahead, and handed to the user's function."""
