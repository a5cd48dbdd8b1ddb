"""Writes docs/command_line.md: every command on real response sets, as it answers.

    SKLEARN_MIRT_DATA=... python benchmarks/command_line_transcripts.py --work FOLDER

The folder keeps what was printed: a second run goes on with what is left. Three models
of openllm_v1 that answered everything play the new models, and 400 others, drawn at
random, are what is known; in nlu_test_sets three models are new and 87 known.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

NLU = "nlu_test_sets/responses.csv.gz --items nlu_test_sets/items.csv.gz"
OPEN = "openllm_v1/responses.csv.gz --items openllm_v1/items.csv.gz"
NLU_ITEMS = "--items nlu_test_sets/items.csv.gz"
KNOWN = "known.csv.gz --items openllm_v1/items.csv.gz"
PAIR = "--first roberta-large_best --second roberta-base_best"

# heading, words, command lines
SECTIONS = [
    (
        "What is in a file",
        "`describe` counts before anything is fitted: gaps, constant items, copies, "
        "parts of the data that share nothing.",
        [f"describe {NLU}", f"describe {OPEN}"],
    ),
    (
        "Fit, and keep the items",
        "`fit` writes an item bank: one open file, from which new models are scored.",
        [
            f"fit {NLU} --dims 2 --out nlu.parquet --abilities nlu-abilities.csv",
            f"fit {OPEN} --dims 2 --out openllm.json",
            "describe openllm.json",
            "convert openllm.json --to r-mirt --out openllm-r-mirt.csv",
        ],
    ),
    (
        "Predict held-out cells",
        "`crossval` is BenchMIRT's protocol: ten folds of cells, the model beside its "
        "baselines. Every finished fit is kept; after Ctrl-C, `--resume` goes on.",
        [
            f"crossval {KNOWN} --dims 1 --dims 2 --out openllm-crossval --resume",
        ],
    ),
    (
        "Choose items, score new models",
        "100 of 1,480 items, chosen on 400 models; three other models are then scored "
        "from their answers to these alone. Their true mean scores: {truth}.",
        [
            f"select {KNOWN} --n-items 100 --out chosen.csv",
            "score new.csv --train known.csv.gz --items openllm_v1/items.csv.gz "
            "--chosen chosen.csv",
        ],
    ),
    (
        "The same on 82,756 items",
        "100 of 82,756 items in 29 test sets, chosen on 87 models; three other models "
        "are scored from their answers to these alone. Their true mean scores: {nlu}.",
        [
            f"select nlu-known.csv.gz {NLU_ITEMS} --n-items 100 --out nlu-chosen.csv",
            f"score nlu-new.csv.gz --train nlu-known.csv.gz {NLU_ITEMS} "
            "--chosen nlu-chosen.csv",
        ],
    ),
    (
        "Compare two models",
        "Both answered the same items, so the differences are paired; errors are "
        "clustered by benchmark.",
        [
            f"compare {NLU} --bank nlu.parquet {PAIR}",
            "compare new.csv --items openllm_v1/items.csv.gz --bank openllm.json "
            "--first fionazhang/fine-tune-mistral-long-merge "
            "--second CultriX/MonaTrix-v6",
        ],
    ),
    (
        "Logs of harnesses",
        "The logs in `tests/samples` were made by lm-evaluation-harness 0.4.13. Where "
        "there is a choice, it has to be made:",
        [
            "describe lm_eval",
            "describe lm_eval --metric capitals_easy=acc --metric capitals_hard=acc "
            "--filter echo=whole",
            "convert lm_eval --metric capitals_easy=acc --metric capitals_hard=acc "
            "--filter echo=whole --out answers.csv --items-out answer-items.csv",
        ],
    ),
    (
        "For machines",
        "With `--json` commands print JSON alone. They exit with 0 (done), 1 (bad "
        "data), 2 (bad usage) or 130 (interrupted).",
        ["fit known.csv.gz --dims 1 --out known.json --json"],
    ),
    (
        "Held-out cells of a large matrix",
        "Seven million cells; the cheap baselines.",
        [f"crossval {NLU} --dims 2 --baselines cheap --out nlu-crossval --resume"],
    ),
]


def prepare(work, data):
    """Link the sets, write the known and the new models; return the true scores."""
    work.mkdir(parents=True, exist_ok=True)
    logs = Path(__file__).resolve().parent.parent / "tests" / "samples" / "lm_eval"
    links = {name: data / name for name in ("nlu_test_sets", "openllm_v1")}
    for name, target in {**links, "lm_eval": logs}.items():
        if not (work / name).exists():
            (work / name).symlink_to(target, target_is_directory=True)
    frame = pd.read_csv(data / "openllm_v1" / "responses.csv.gz", index_col=0)
    frame = frame[frame.notna().all(axis=1)].astype(int)
    new = frame.sample(3, random_state=0)
    if not (work / "known.csv.gz").exists():
        known = frame.drop(new.index).sample(400, random_state=1)
        known.to_csv(work / "known.csv.gz")
    new.to_csv(work / "new.csv")
    return {"{truth}": means(new), "{nlu}": means(prepare_nlu(work, data))}


def prepare_nlu(work, data):
    """Write three models of nlu_test_sets apart from the others; return them."""
    frame = pd.read_csv(data / "nlu_test_sets" / "responses.csv.gz", index_col=0)
    new = frame.sample(3, axis=1, random_state=0)
    if not (work / "nlu-known.csv.gz").exists():
        frame.drop(columns=new.columns).to_csv(work / "nlu-known.csv.gz")
        new.to_csv(work / "nlu-new.csv.gz")
    return new.T


def means(frame):
    """Return the mean score of each row as text."""
    scores = frame.mean(axis=1).items()
    return ", ".join(f"{name} {score:.4f}" for name, score in scores)


def run(line, work):
    """Return what a command prints, and the seconds it took."""
    words = shlex.split(line)
    out = [words[k + 1] for k, w in enumerate(words) if w in OUTPUTS]
    for name in out:
        if (work / name).is_file():
            (work / name).unlink()
    environment = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}
    start = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-m", "sklearn_mirt", *words],
        cwd=work,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds = time.perf_counter() - start
    text = "\n".join(x.rstrip() for x in result.stdout.strip("\n").splitlines())
    if result.returncode:
        text += f"\n(exit status {result.returncode})"
    return text, seconds


OUTPUTS = {"--out", "--abilities", "--items-out"}


def main():
    """Run all commands and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("docs/command_line.md"))
    options = parser.parse_args()
    work = options.work.resolve()
    truth = prepare(work, Path(os.environ["SKLEARN_MIRT_DATA"]).resolve())
    parts = [
        "# The command line: transcripts",
        "Made by `benchmarks/command_line_transcripts.py`; times are of one run on two "
        "shared cores, and of what was left to do for a cross-validation that goes on.",
        "`sklearn-mirt COMMAND --help` shows all options with an example; "
        "`sklearn-mirt --install-completion` teaches them to your shell.",
    ]
    record = work / "transcripts.json"
    done = json.loads(record.read_text()) if record.exists() else {}
    for heading, words, lines in SECTIONS:
        for mark, scores in truth.items():
            words = words.replace(mark, scores)
        parts += [f"## {heading}", words]
        for line in lines:
            if line not in done:
                done[line] = run(line, work)
                record.write_text(json.dumps(done))
            text, seconds = done[line]
            text = text.strip("\n")
            print(f"{seconds:7.1f} s  {line}", flush=True)
            parts.append(f"```console\n$ sklearn-mirt {line}\n{text}\n```")
            parts.append(f"({seconds:.0f} s)")
            options.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
