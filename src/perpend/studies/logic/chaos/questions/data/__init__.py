"""What stated numbers show: orbits, tables, spectra, lists of regimes."""
