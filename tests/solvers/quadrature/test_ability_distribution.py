"""Parameters of the distribution of abilities."""

import numpy as np
import pytest

from sklearn_mirt.solvers.quadrature.ability_distribution import LatentNormal

pytestmark = pytest.mark.filterwarnings("ignore")


def test_latent_parameters_are_named_and_valued_alike():
    z = np.log([2.0, 3.0])
    free = LatentNormal(2, free_variances=True)
    assert free.names == ["variance1", "variance2"]
    np.testing.assert_allclose(free.natural(z), [4.0, 9.0])
    tied = LatentNormal(2, free_correlations=True)
    assert tied.names == ["correlation12"]
    np.testing.assert_allclose(tied.natural(np.arctanh([0.5])), [0.5])
