"""The bifactor fit behind the choice of items."""
