"""Sends, from the frame to the answer."""
