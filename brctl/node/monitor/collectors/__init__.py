"""One file per collector; see the package above."""
