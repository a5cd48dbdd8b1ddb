"""Simulated responses with known truth, a small published table, public sets."""

from sklearn_mirt.datasets.fetching import fetch_benchmirt, fetch_fluid_benchmarking
from sklearn_mirt.datasets.lsat7 import load_lsat7
from sklearn_mirt.datasets.simulation import make_responses
from sklearn_mirt.datasets.suite import make_benchmark_suite

__all__ = [
    "fetch_benchmirt",
    "fetch_fluid_benchmarking",
    "load_lsat7",
    "make_benchmark_suite",
    "make_responses",
]
