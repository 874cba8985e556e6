"""Requests that need no room of their own."""
