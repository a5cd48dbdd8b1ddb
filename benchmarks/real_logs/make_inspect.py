"""Makes logs with the real inspect_ai: its mock model, epochs=3, one errored sample.

Two mock models on one task, two scorers, one log as .eval and one as .json; and beside
them `expected.csv`: what each model was made to answer, decided here before the run.

    python benchmarks/real_logs/make_inspect.py tests/samples/inspect

Needs inspect_ai; nothing is downloaded.
"""

import csv
import os
import sys
import tempfile
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import includes, match
from inspect_ai.solver import solver

CAPITALS = {"fr": "Paris", "it": "Rome", 3: "Oslo", "jp": "Tokyo"}
EPOCHS = 3
# (id, epoch) answered right, by model; "half" contains the word but does not end on it
ANSWERS = {
    "alpha": lambda k, epoch: ["right", "half", "wrong"][(k + epoch) % 3],
    "beta": lambda k, epoch: "right" if k % 2 else "wrong",
}
FORMATS = {"alpha": "eval", "beta": "json"}
ERRED = (3, 2)  # the sample with the id 3 fails in epoch 2
SCORES = {"right": (1, 1), "half": (0, 1), "wrong": (0, 0)}


@solver
def answer(model: str):
    """Say what the table says; fail on one sample."""

    async def solve(state, generate):
        if (state.sample_id, state.epoch) == ERRED:
            raise RuntimeError("the tool broke")
        place = list(CAPITALS).index(state.sample_id)
        kind = ANSWERS[model](place, state.epoch)
        word = CAPITALS[state.sample_id]
        text = {"right": word, "half": f"{word}, I guess", "wrong": "Perth"}[kind]
        state.output = ModelOutput.from_content(f"mockllm/{model}", text)
        return state

    return solve


def leave_out_the_machine(path: Path) -> None:
    """Remove tracebacks and events, which name folders, by inspect_ai's own writer."""
    log = read_eval_log(str(path))
    for sample in log.samples:
        sample.events = []
        if sample.error is not None:
            sample.error.traceback = sample.error.traceback_ansi = "left out"
    log.eval.revision = None
    write_eval_log(log, str(path))


def main() -> None:
    """Run both mock models and write their logs."""
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the log names the folder of the task
        for model, kind in FORMATS.items():
            samples = [
                Sample(id=key, input=f"The capital of {key}?", target=word)
                for key, word in CAPITALS.items()
            ]
            task = Task(
                name="capitals",
                dataset=MemoryDataset(samples, name="capitals"),
                solver=answer(model),
                scorer=[match(), includes()],
                version=2,
            )
            eval(
                task,
                model=get_model(f"mockllm/{model}"),
                epochs=EPOCHS,
                log_dir=str(out),
                log_format=kind,
                fail_on_error=False,
                display="none",
            )
            for place, key in enumerate(CAPITALS):
                for epoch in range(1, EPOCHS + 1):
                    scores = SCORES[ANSWERS[model](place, epoch)]
                    if (key, epoch) == ERRED:
                        scores = ("error", "error")
                    rows.append([f"mockllm/{model}", f"capitals/{key}", epoch, *scores])
    for path in [*out.glob("*.eval"), *out.glob("*.json")]:
        leave_out_the_machine(path)
    with (out / "expected.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "item", "epoch", "match", "includes"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
