"""The second way to every label: it reads what is printed, and imports nothing of the factory but `Unreadable`."""
