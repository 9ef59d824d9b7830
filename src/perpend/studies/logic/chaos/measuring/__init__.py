"""Measuring instances: orbits, exponents, decisions."""
