"""Frames and their two headers: bytes to a Command and back."""
