"""The broker's statistics, and how they are shown: to mqadmin, to Prometheus, to the console."""
