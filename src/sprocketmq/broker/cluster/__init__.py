"""The broker among others: registration and addresses."""
