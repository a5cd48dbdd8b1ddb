"""What is estimated, and its mathematics; nothing here passes over data."""
