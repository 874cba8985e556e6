"""Who changed what: a line for each change, and what is shown of the things before and after it."""
