"""Reports, one file each: compute a value, then draw or write it."""
