"""Node agents: what kubelets do, as far as anybody can see from outside."""
