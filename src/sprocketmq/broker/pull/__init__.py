"""Pulls, from the frame to the answer, with long polling."""
