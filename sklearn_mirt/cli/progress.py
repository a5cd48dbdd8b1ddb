"""Audit tables as text for a terminal and as JSON. Nothing is fitted here."""

from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


def _progress(columns) -> Progress:
    """Return a bar on the error stream that shows only if that is a terminal."""
    screen = Console(stderr=True)
    return Progress(
        *columns, console=screen, transient=True, disable=not screen.is_terminal
    )


@contextmanager
def progress_bar(label: str):
    """Show a bar on the error stream, if that is a terminal, while the body runs.

    Yields a callback for scikit-learn's estimators that moves the bar with each pass.
    Without callbacks the bar pulses.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), _Time())
    with _progress(columns) as progress:
        yield _Passes(progress, progress.add_task(label, total=None), label)


@contextmanager
def byte_bar(label: str):
    """Show a bar of bytes read; yields a function of the bytes done and in all."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with _progress(columns) as progress:
        task = progress.add_task(label, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def step_bar(label: str, total: int):
    """Show a bar of steps with the time left; yields a function (done, label)."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with _progress(columns) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done, text: progress.update(task, completed=done, description=text)


class _Time(ProgressColumn):
    """Time left where the number of steps is known, else the time so far.

    A fit ends when its bound stands still, mostly long before its last allowed pass.
    """

    def __init__(self):
        super().__init__()
        self._left, self._so_far = TimeRemainingColumn(), TimeElapsedColumn()

    def render(self, task):
        counted = task.fields.get("counted", False)
        return (self._left if counted else self._so_far).render(task)


class _Passes:
    """Callback: the tasks of a fit are its passes over the data."""

    def __init__(self, progress, task, label):
        self._progress, self._task, self._label = progress, task, label
        self._n_passes = 0

    def setup(self, estimator, context):
        self._progress.update(self._task, total=context.max_subtasks)

    def on_fit_task_begin(self, estimator, context):
        """Nothing moves until a pass is over."""

    def on_fit_task_end(self, estimator, context):
        if context.parent is not None:
            self._n_passes += 1
            self._progress.update(
                self._task,
                completed=self._n_passes,
                description=f"{self._label}, pass {self._n_passes}",
            )

    def on_replicate(self, done, total):
        """Move the bar to a replicate of the bootstrap or of the null control."""
        label = f"{self._label}, replicate {done} of {total}"
        if done == 1:  # the speed of replicates, not that of passes
            self._progress.reset(self._task)
        self._progress.update(
            self._task, completed=done, total=total, description=label, counted=True
        )

    def teardown(self, estimator, context):
        self._progress.update(self._task, description=f"{self._label}, tables")


def compare_with_truth(benchmarks, suite) -> str:
    """Say how near the fitted correlations are to those of a simulated suite.

    Dimensions have no order of their own: each true one is matched with the fitted one
    that is nearest to it over all benchmarks.
    """
    from scipy.optimize import linear_sum_assignment

    truth = suite.correlations
    fitted = benchmarks.loc[
        truth.index, [c for c in benchmarks.columns if c.startswith("r_")]
    ].to_numpy(dtype=float)
    true = truth.to_numpy(dtype=float)
    distance = np.abs(true[:, :, None] - fitted[:, None, :]).sum(axis=0)
    fitted = fitted[:, linear_sum_assignment(distance)[1]]
    decided = truth.index[
        [suite.dominant_dimension[b] is not None for b in truth.index]
    ]
    right = np.argmax(np.abs(fitted), axis=1) == np.argmax(np.abs(true), axis=1)
    n_right = int(right[truth.index.isin(decided)].sum())
    return (
        f"against the known truth: dominant dimension right for {n_right} of "
        f"{len(decided)} benchmarks that have one, correlations off by "
        f"{np.abs(fitted - true).max():.3f} at most"
    )


def as_json(audit, about: dict) -> dict:
    """Return the benchmark table, findings and provenance as plain JSON values."""
    rows = audit.benchmarks.rename_axis(index="benchmark").reset_index()
    return {
        "about": about,
        "benchmarks": [
            {key: plain(value) for key, value in row.items()}
            for row in rows.to_dict(orient="records")
        ],
        "findings": list(audit.findings),
    }


def plain(value):
    """Return a value as plain JSON: no numpy scalar, null for what is no number."""
    value = value.item() if isinstance(value, np.generic) else value
    # JSON has no NaN
    return None if isinstance(value, float) and not np.isfinite(value) else value
