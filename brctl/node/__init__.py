"""All that runs on a node: standard library, pynvml and psutil only, Python 3.8 and later.

Nothing here may import the rest of brctl, so that this folder alone can be sent to a node that has nothing installed.
"""
