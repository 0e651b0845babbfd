"""What the process shows to the outside over HTTP: health, metrics, its configuration. Only to those who may see it."""
