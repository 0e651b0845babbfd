"""Foreign extenders: webhooks, configured under ``extenders:``, that take part in the decisions of ``bayplan run``."""
