"""Our plugins behind the extender webhook of another scheduler (extender v1)."""
