"""What the scheduler tells about pods: events for people, conditions and nominations in the pods' status."""
