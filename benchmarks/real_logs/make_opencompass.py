"""Makes results with the real OpenCompass: its evaluation task, on answers made here.

Two models, a data set answered once and one answered twice; the task scores them with
OpenCompass's exact-match evaluator and `dump_details`, and writes the result files.
Beside them `expected.csv`: what the answers were made to be.

    python benchmarks/real_logs/make_opencompass.py tests/samples/opencompass

Needs opencompass, of whose dependencies (`pip install --no-deps`) only mmengine-lite,
datasets and scipy: torch and transformers, which evaluation imports and does not use,
are stood in for, and the packages that import every model and data set are not entered.
"""

import csv
import importlib.abc
import importlib.machinery
import importlib.util
import json
import shutil
import sys
import tempfile
import types
from pathlib import Path
from unittest.mock import MagicMock

CAPITALS = {"France": "Paris", "Italy": "Rome", "Norway": "Oslo", "Japan": "Tokyo"}
MODELS = {"model-a": 1, "model-b": 2}
RUNS = {"capitals": 1, "capitals_twice": 2}  # answers to each question


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that are imported and not used."""

    def find_spec(self, name, path=None, target=None):
        """Find torch and transformers, wherever they are asked for."""
        if name.split(".")[0] in {"torch", "transformers"}:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        """Return a module whose classes are empty and whose functions do nothing."""
        module = types.ModuleType(spec.name)
        module.__version__, module.__file__ = "2.0.0", __file__
        module.__getattr__ = lambda name: (
            type(name, (), {}) if name[0].isupper() else MagicMock()
        )
        return module

    def exec_module(self, module):
        """Nothing to execute."""


def real_classes():
    """Return OpenCompass's evaluation task, evaluator and base of data sets."""
    import datasets  # noqa: F401 - before the stand-ins: it looks for torch, too

    sys.meta_path.append(StandIns())
    root = Path(importlib.util.find_spec("opencompass").submodule_search_locations[0])
    for name in ("tasks", "openicl", "openicl/icl_evaluator", "datasets"):
        module = types.ModuleType(f"opencompass.{name.replace('/', '.')}")
        module.__path__ = [str(root / name)]
        sys.modules[module.__name__] = module
    from opencompass.openicl.icl_dataset_reader import DatasetReader

    sys.modules["opencompass.openicl"].DatasetReader = DatasetReader
    from opencompass.datasets.base import BaseDataset
    from opencompass.openicl.icl_evaluator.icl_em_evaluator import EMEvaluator
    from opencompass.tasks.openicl_eval import OpenICLEvalTask

    return OpenICLEvalTask, EMEvaluator, BaseDataset


def main() -> None:
    """Write predictions, have them scored, keep the results."""
    out = Path(sys.argv[1]).resolve()
    task_class, evaluator, base = real_classes()
    from datasets import Dataset, DatasetDict
    from mmengine.config import ConfigDict

    class Capitals(base):
        @staticmethod
        def load():
            answers = [[city] for city in CAPITALS.values()]
            rows = Dataset.from_dict({"country": list(CAPITALS), "answer": answers})
            return DatasetDict(train=rows, test=rows)

    reader = {"input_columns": ["country"], "output_column": "answer"}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for model, step in MODELS.items():
            for name, n in RUNS.items():
                predictions = {}
                for k in range(n * len(CAPITALS)):
                    run, place = divmod(k, len(CAPITALS))
                    right = (place * step + run) % 3 == 0
                    city = list(CAPITALS.values())[place]
                    predictions[str(k)] = {
                        "origin_prompt": f"The capital of {list(CAPITALS)[place]}?",
                        "prediction": city if right else "Perth",
                        "gold": [city],
                    }
                    rows.append([model, f"{name}/{place}", run, int(right)])
                path = Path(folder) / "predictions" / model / f"{name}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(predictions))
                dataset = {
                    "abbr": name,
                    "type": Capitals,
                    "reader_cfg": reader,
                    "eval_cfg": {"evaluator": {"type": evaluator}},
                    "n": n,
                }
                settings = {
                    "models": [{"abbr": model}],
                    "datasets": [[dataset]],
                    "work_dir": folder,
                    "eval": {"runner": {"task": {"dump_details": True}}},
                }
                task_class(ConfigDict(settings)).run()
        shutil.copytree(Path(folder) / "results", out / "results")
    with (out / "expected.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "item", "run", "correct"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
