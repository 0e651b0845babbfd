"""What the watches tell, taken in: into the columns first, then to the queue as events that may wake pods."""
