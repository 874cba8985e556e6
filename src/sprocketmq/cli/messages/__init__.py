"""Commands that send and receive."""
