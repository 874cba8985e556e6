"""A stored message: its record, its properties, its ids, its compression."""
