"""Taking over changed rules while the scheduler runs, and trying new ones beside the old."""
