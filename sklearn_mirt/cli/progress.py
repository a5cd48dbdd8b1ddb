"""Progress bars on the error stream, where that is a terminal."""

from contextlib import contextmanager

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


@contextmanager
def _bar(label: str, *columns: ProgressColumn, total: int | None = None):
    """Show a bar with these columns; yields the bar and its task."""
    screen = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *columns,
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    ) as bar:
        yield bar, bar.add_task(label, total=total)


@contextmanager
def byte_bar(label: str):
    """Show a bar of bytes read; yields a function of the bytes done and in all."""
    with _bar(label, DownloadColumn(), TimeRemainingColumn()) as (bar, task):
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def step_bar(label: str, total: int):
    """Show a bar of steps with the time left; yields a function (done, label)."""
    columns = MofNCompleteColumn(), TimeRemainingColumn()
    with _bar(label, *columns, total=total) as (bar, task):
        yield lambda done, text: bar.update(task, completed=done, description=text)


@contextmanager
def work_bar(label: str):
    """Show a bar that pulses, with the time so far."""
    with _bar(label, _Time()):
        yield


@contextmanager
def fit_bar(estimator, data):
    """Show a bar of the passes of a fit; yields a function for replicates after it.

    Without the callbacks of scikit-learn (1.9) the bar pulses.
    """
    label = f"fitting {data.n_respondents:,} respondents x {data.n_items:,} items"
    with _bar(label, _Time()) as (bar, task):
        passes = _Passes(bar, task, label)
        if hasattr(estimator, "set_callbacks"):
            estimator.set_callbacks(passes)
        yield passes.on_replicate


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

    def __init__(self, bar, task, label):
        self._bar, self._task, self._label = bar, task, label
        self._n_passes = 0

    def setup(self, estimator, context):
        self._bar.update(self._task, total=context.max_subtasks)

    def on_fit_task_begin(self, estimator, context):
        """Nothing moves until a pass is over."""

    def on_fit_task_end(self, estimator, context):
        if context.parent is not None:
            self._n_passes += 1
            text = f"{self._label}, pass {self._n_passes}"
            self._bar.update(self._task, completed=self._n_passes, description=text)

    def on_replicate(self, done, total):
        """Move the bar to a replicate of the bootstrap or of the null control."""
        label = f"{self._label}, replicate {done} of {total}"
        if done == 1:  # the speed of replicates, not that of passes
            self._bar.reset(self._task)
        self._bar.update(
            self._task, completed=done, total=total, description=label, counted=True
        )

    def teardown(self, estimator, context):
        self._bar.update(self._task, description=f"{self._label}, tables")
