"""Commands that show and change a cluster."""
