"""Half messages, their ends, and the checks of those that stay open."""
