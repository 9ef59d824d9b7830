"""Solvers that read nothing but a question."""
