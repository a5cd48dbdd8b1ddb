"""Whether the model holds, and how sure its estimates are."""
