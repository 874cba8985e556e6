"""The nameserver: which brokers live, and which have the queues of a topic. `server.Nameserver` is the process."""
