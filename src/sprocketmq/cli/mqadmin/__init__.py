"""mqadmin's commands, by its names and options."""
