"""All that concerns "compiled or not": the loader, the stand-in for Cython, and the C vocabulary of the hot modules."""
