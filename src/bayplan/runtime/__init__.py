"""The live scheduler: what brings events to the core, and carries its outcomes to the API server."""
