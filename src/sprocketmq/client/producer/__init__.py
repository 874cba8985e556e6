"""Sending: single messages, batches, transactions, requests with replies."""
