"""Controllers: just enough of kube-controller-manager that workloads yield pods, and claims volumes."""
