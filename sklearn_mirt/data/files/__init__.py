"""Responses and item tables, read from files and written to them."""
