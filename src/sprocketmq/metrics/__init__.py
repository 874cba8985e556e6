"""What a server shows of itself over HTTP: its figures for Prometheus, whether it lives, whether it is ready."""
