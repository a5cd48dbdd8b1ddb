"""Solvers: from responses to posteriors of items and abilities; no scikit-learn."""
