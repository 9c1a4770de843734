"""From a request to the Reports of the nodes. This host is a fleet of one."""
