"""What lives as long as a Python worker of Spark."""
