"""Which messages a subscription gets: tag and SQL92 expressions, bloom bits. No clock, no files, no sockets."""
