"""What is run for ``fingerprints.py``, in blocks that stand alone."""

from fingerprinted import (  # noqa: F401 - each registers its blocks
    audits,
    commands,
    exact,
    predictions,
    selection,
    shards,
    tables,
    tools,
    variational,
)
from fingerprinted.blocks import BLOCKS, run_block

__all__ = ["BLOCKS", "run_block"]
