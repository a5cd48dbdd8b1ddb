"""Allow `python -m sklearn_mirt`."""

from sklearn_mirt.cli import main

main()
