"""Charts, the map of replicas, time lines and bodies of messages, as text that a template places."""
