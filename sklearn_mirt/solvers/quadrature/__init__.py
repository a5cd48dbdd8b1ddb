"""The exact marginal likelihood for few items."""
