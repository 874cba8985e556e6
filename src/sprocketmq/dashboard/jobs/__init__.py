"""Programs that the console runs beside itself, and what they have told."""
