"""What follows from stated equations by hand."""
