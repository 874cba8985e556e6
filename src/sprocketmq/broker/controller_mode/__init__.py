"""A broker whose role is given by a controller, Apache's or ours."""
