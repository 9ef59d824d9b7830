"""studies: one folder or file each: what is asked (task), what its numbers are and how they are told (STUDY)."""
