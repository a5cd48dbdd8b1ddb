"""Progress through scikit-learn's callbacks, where the installed version has them."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in for a scikit-learn without callbacks."""

    def with_callbacks(method):
        """Return the method unchanged."""
        return method


class PassReporter:
    """Tells scikit-learn's callbacks, and a verbose user, of each pass of a fit.

    Parameters
    ----------
    estimator : estimator
        Its callbacks are called at the end of each pass.
    max_iter : int
        Largest number of passes.
    """

    def __init__(self, estimator, max_iter):
        self._estimator = estimator
        self._context = None
        self._last = None
        if hasattr(estimator, "_init_callback_context"):
            self._context = estimator._init_callback_context(max_subtasks=max_iter)
            self._context.call_on_fit_task_begin(estimator=estimator)

    def __call__(self, n_iter, objective):
        """Report one pass and its objective."""
        if self._estimator.verbose:
            gain = "" if self._last is None else f"  (+{objective - self._last:.3g})"
            print(f"Pass {n_iter}: objective {objective:.6f}{gain}")
        self._last = objective
        if self._context is not None:
            subtask = self._context.subcontext(task_name="pass")
            subtask.call_on_fit_task_begin(estimator=self._estimator)
            subtask.call_on_fit_task_end(estimator=self._estimator)

    def close(self):
        """Tell the callbacks that the fit has ended."""
        if self._context is not None:
            self._context.call_on_fit_task_end(estimator=self._estimator)
