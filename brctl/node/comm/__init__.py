"""The communication environment of jobs: rendered from what is declared and what the node has, and linted.

Pure but for sources.py: an Inventory and a Communication give Variables; text gives Settings, and those give Findings.
"""
