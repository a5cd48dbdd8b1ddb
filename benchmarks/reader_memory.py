"""Peak memory of reading a large folder of samples of lm-evaluation-harness.

Writes a folder of five models' samples with long texts, reads it, and says how much
memory that took beyond the imported package.

    python benchmarks/reader_memory.py --gigabytes 1
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_mirt import read_responses

N_MODELS = 5
TEXT = 'The quick brown fox said "nobody".\n' * 600  # about 20 kB


def write_samples(folder: Path, n_bytes: float) -> None:
    """Write the samples of each model: line by line, with long documents."""
    n_items = int(n_bytes / N_MODELS / len(json.dumps(TEXT)))
    for model in range(N_MODELS):
        place = folder / f"model-{model}"
        place.mkdir()
        results = {"model_name": f"model-{model}", "versions": {"t": 1}}
        (place / "results_2026-01-01T00-00-00.json").write_text(json.dumps(results))
        with open(place / "samples_t_2026-01-01T00-00-00.jsonl", "w") as file:
            for k in range(n_items):
                sample = {"doc_id": k, "doc": {"question": TEXT}, "filter": "none"}
                sample |= {"metrics": ["acc"], "acc": float(k * model % 3 == 0)}
                file.write(json.dumps(sample) + "\n")


def peak_mb() -> float:
    """Peak resident memory of this process so far (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Write, read, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_samples(Path(folder), options.gigabytes * 1e9)
        size = sum(p.stat().st_size for p in Path(folder).rglob("*.json*"))
        before, start = peak_mb(), time.process_time()
        data = read_responses(folder).data
        seconds = time.process_time() - start
    print(f"{size / 1e9:.2f} GB, {data.n_observed:,} answers, {seconds:.1f} s CPU")
    print(f"peak {peak_mb():.0f} MB, before reading {before:.0f} MB")
    print(f"numpy {np.__version__}, pandas {pd.__version__}")


if __name__ == "__main__":
    main()
