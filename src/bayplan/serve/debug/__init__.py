"""Pages for those who want to know why: the queue, the last attempts, one pod's story, the load of the nodes."""
