"""What a start finds on disk, and what it makes of it."""
