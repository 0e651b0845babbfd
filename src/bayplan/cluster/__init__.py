"""The cluster as columns: rows and ids, no plugins."""
