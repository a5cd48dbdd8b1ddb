"""The variational fit with blocks of items on the workers of a cluster.

For few respondents and very many items. Each block's items live with it; in a pass the
abilities go out and sums over items, of the size of the respondents, come back. Blocks
and the order of sums are those of one process, hence so are the bytes of the result.
"""

from dataclasses import dataclass, replace

import numpy as np

from sklearn_mirt.solvers.kernels import get_kernels
from sklearn_mirt.solvers.kernels.item_blocks import (
    ItemState,
    change_coordinates,
    sum_for_abilities,
    sweep,
)
from sklearn_mirt.solvers.variational.solver import VariationalSolver, _Fit


class ItemShardSolver(VariationalSolver):
    """The variational fit of a ResponseData over a cluster.

    Parameters
    ----------
    runner : DaskRunner
        Its number of runs is that of LocalRunner.
    max_iter, tol, dtype
        As of VariationalSolver.
    """

    def __init__(self, runner, max_iter, tol, dtype):
        super().__init__(max_iter, tol, dtype)
        self.runner = runner

    def solve(self, data, n_dims, design, *, start=None, callback=None):
        """Return the fit of `data`; see :class:`Solver`."""
        with self.runner.running():
            fit = ItemShardFit(
                data, n_dims, design, get_kernels(), self.runner, self._products(data)
            )
            fit.plain_passes = self._plain_passes(data)
            fit.begin(start)
            converged = fit.run(self.max_iter, self.tol, callback)
            return fit.result(converged)


class ItemShardFit(_Fit):
    """One fit; `state.items` is a list of states, one with each block."""

    def __init__(self, data, n_dims, design, kernels, runner, dtype):
        super().__init__(data, n_dims, design, kernels, runner, dtype)
        self._weighted = self.blocks[0].weights is not None
        self._places = [slice(block.start, block.stop) for block in self.blocks]
        self.blocks = runner.persist(self.blocks)

    def _item_means(self):
        if self._weighted:
            return None
        return self.item_score / np.maximum(self.item_weight, 1)

    def _items(self, mean, second):
        items = super()._items(mean, second)
        return [items.block(here) for here in self._places]

    def _sweep(self, task):
        return self.runner.sweep(
            _sweep_block, self.blocks, self.state.items, task, self.kernels
        )

    def _evaluate(self):
        self._settle_items()
        _, sums = self.runner.sweep(
            _sum_block, self.blocks, self.state.items, self._task(), self.kernels
        )
        return sums.bound - self.state.divergence

    def _settle_items(self):
        carry, items = self.state.carry, self.state.items
        if not np.array_equal(carry, np.eye(len(carry))):
            items, _ = self.runner.sweep(
                _settle_block, self.blocks, items, carry, self.kernels
            )
        self.state = replace(self.state, items=items, carry=np.eye(len(carry)))

    def result(self, converged):
        """Return the current state as a SolverResult."""
        self._settle_items()
        parts = self.runner.gather(self.state.items)
        mean, second = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("mean", "second")
        )
        self.state = replace(self.state, items=ItemState(mean, second))
        return self._host_result(converged)


@dataclass(frozen=True, eq=False)
class _Here:
    """The items of one block, which it asks for by their places among all."""

    items: ItemState

    def block(self, here):
        return self.items


def _sweep_block(block, items, task, kernels):
    after = items.empty_like()
    return after, sweep(block, _Here(items), _Here(after), task, kernels)


def _sum_block(block, items, task, kernels):
    return items, sum_for_abilities(block, _Here(items), task, kernels)


def _settle_block(block, items, carry, kernels):
    return change_coordinates(items, carry, kernels), 0.0
