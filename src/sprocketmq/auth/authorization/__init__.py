"""What a user may do: policies of resources and actions, and the table of what every request needs."""
