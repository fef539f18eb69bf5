"""What leaves Headwall on paper: documents made from the ledger, written nowhere by themselves."""
