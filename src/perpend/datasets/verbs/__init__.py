"""Verb-grammar probes in English and Spanish, a training corpus and a held-out text of our own. See README.md here."""
