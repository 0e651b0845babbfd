"""The plugin contract, and the runner that holds plugins to it."""
