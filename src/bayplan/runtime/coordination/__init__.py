"""Several schedulers in one cluster: who serves a profile whose own scheduler is gone, and who gives way in a race for room."""
