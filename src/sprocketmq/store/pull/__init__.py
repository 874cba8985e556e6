"""A pull as the store answers it."""
