"""brctl keeps a GPU cluster in the state that one file declares, and says, with evidence, why it is not."""

__version__ = "0.1.0"
