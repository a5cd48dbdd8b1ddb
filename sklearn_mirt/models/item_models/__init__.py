"""The models of an answer given an ability: one class per item type."""
