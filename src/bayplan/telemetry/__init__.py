"""What happened, as data: every report is made from these records."""
