"""
LSAT section 7: an exact fit
============================

Five items, 1,000 examinees (Bock & Lieberman 1970): for short tests the model is fitted
by marginal maximum likelihood with quadrature, which ``solver="auto"`` chooses here.
"""

import pandas as pd

from sklearn_mirt import MIRTTransformer
from sklearn_mirt.datasets import load_lsat7
from sklearn_mirt.plots import InformationDisplay, ItemCurvesDisplay

responses = load_lsat7(as_frame=True, return_X=True)
mirt = MIRTTransformer(1, solver="auto").fit(responses)
print(mirt.solver_)

# %%
table = {"slope": mirt.slopes_[:, 0], "intercept": mirt.intercepts_}
print(pd.DataFrame(table, index=mirt.items_).round(3))

# %%
ItemCurvesDisplay.from_estimator(mirt, list(mirt.items_))

# %%
InformationDisplay.from_estimator(mirt)
