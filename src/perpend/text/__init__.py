"""Rules about text, pure: what it says, whose words it uses, where the answer stands."""
