"""Rotation of slopes, abilities and their covariances together."""
