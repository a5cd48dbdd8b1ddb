"""The variational fit for many items."""
