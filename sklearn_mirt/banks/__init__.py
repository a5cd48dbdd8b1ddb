"""What is done with calibrated items."""
