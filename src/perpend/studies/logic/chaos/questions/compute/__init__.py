"""What only a computation shows."""
