"""The cluster as a client sees it: connections, routes, heartbeats, requests."""
