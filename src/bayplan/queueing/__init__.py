"""Which pod is next: ready, backing off, parked until something happens, or held at a gate. Pure; time is an argument."""
