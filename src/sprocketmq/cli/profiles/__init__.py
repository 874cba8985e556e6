"""Named clusters, and how to reach them."""
