"""The controller: which replica of a broker set is its master, and which ones have everything that was promised."""
