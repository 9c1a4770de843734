"""One file for each Setting."""
