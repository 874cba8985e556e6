"""A TCP proxy for tests that can drop, delay, hold and reset what passes through it."""
