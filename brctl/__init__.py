"""brctl keeps a GPU cluster in the state that one file declares, and says, with evidence, why it is not."""

__version__ = "0.1.0"
SELDOM = 50000
"""New objects until Python looks for garbage: most commands end with less; its own 700 cost a tenth of their time."""
