"""The scikit-learn contract."""
