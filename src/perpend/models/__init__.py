"""Providers, one file each: `model(name, **options)` makes the model that answers to 'provider/name'."""
