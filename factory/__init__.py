"""What makes the items of perpend-logic: see README.md."""
