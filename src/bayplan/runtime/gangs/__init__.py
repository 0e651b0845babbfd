"""Pod groups in a running scheduler: their turns, their status, and what becomes of one that was broken off in the middle."""
