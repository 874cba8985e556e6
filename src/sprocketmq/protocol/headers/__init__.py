"""Every custom header, grouped by what it is about. The keys and the required fields are RocketMQ's."""
