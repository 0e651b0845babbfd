"""One attempt for one pod: takes a view of the cluster, returns an outcome."""
