"""The pages, one module each: what they show, and what they change."""
