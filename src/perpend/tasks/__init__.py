"""Tasks, one file each: `task(**options)` makes it. Nothing but composition."""
