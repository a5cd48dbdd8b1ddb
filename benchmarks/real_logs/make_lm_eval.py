"""Makes logs with the real lm-evaluation-harness: its dummy model, a local task.

Writes the folders that `lm_eval --log_samples --output_path` writes for three "models"
(the dummy model under three names and seeds) on a group of two subsets and on a task
with two filters, and beside them `expected.csv`: every score, asked from the harness
itself (`lm_eval.simple_evaluate`), not read from the logs.

    python benchmarks/real_logs/make_lm_eval.py tests/samples/lm_eval

Needs lm_eval and datasets; nothing is downloaded.
"""

import csv
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

TASKS = Path(__file__).parent / "lm_eval_tasks"
MODELS = {"lab/model-a": 1, "lab/model-b": 2, "model-c": 3}
CAPITALS = [
    ("France", "Paris"),
    ("Italy", "Rome"),
    ("Norway", "Oslo"),
    ("Chad", "N'Djamena"),
    ("Palau", "Ngerulmud"),
    ("Japan", "Tokyo"),
]


def write_documents(folder: Path) -> None:
    """Write the documents of the tasks; the task files name them."""
    names = [capital for _, capital in CAPITALS]
    for task, rows in (("easy", CAPITALS), ("hard", CAPITALS[::-1][:4])):
        with (folder / f"capitals_{task}.jsonl").open("w") as file:
            for country, capital in rows:
                other = names[names.index(capital) - 1]
                row = {"country": country, "choices": [other, capital], "answer": 1}
                file.write(json.dumps(row) + "\n")
    with (folder / "echo.jsonl").open("w") as file:
        for question, answer in [("say lol", "lol"), ("say l", "l"), ("say no", "no")]:
            file.write(json.dumps({"question": question, "answer": answer}) + "\n")
    for path in TASKS.glob("*.yaml"):
        shutil.copy(path, folder)


def main() -> None:
    """Run the harness once per model and write what it logs."""
    out = Path(sys.argv[1]).resolve()
    os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    import lm_eval
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HF_HOME"] = str(Path(folder) / "cache")
        write_documents(Path(folder))
        os.chdir(folder)  # the task files name their documents without a folder
        for model, seed in MODELS.items():
            tracker = EvaluationTracker(output_path=str(out))
            results = lm_eval.simple_evaluate(
                model="dummy",
                model_args=f"pretrained={model}",
                tasks=["capitals", "echo"],
                task_manager=TaskManager(include_path=folder, include_defaults=False),
                log_samples=True,
                evaluation_tracker=tracker,
                random_seed=seed,
                bootstrap_iters=0,
            )
            samples = results.pop("samples")
            tracker.save_results_aggregated(results=results, samples=samples)
            for task in samples:
                tracker.save_results_samples(task_name=task, samples=samples[task])
                for sample in samples[task]:
                    for metric in sample["metrics"]:
                        key = [model, task, sample["doc_id"], sample["filter"], metric]
                        rows.append([*key, float(sample[metric])])
    for path in out.glob("*/results_*.json"):
        # the only change to the logs: what machine they were made on is left out
        document = json.loads(path.read_text())
        document["pretty_env_info"] = "left out"
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False))
    with (out / "expected.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "task", "doc_id", "filter", "metric", "score"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
