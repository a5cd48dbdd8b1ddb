# The public names, each with its home: read by type checkers, and by lazy_loader.

from . import datasets as datasets
from . import metrics as metrics
from . import plots as plots
from . import selection as selection
from ._version import __version__ as __version__

# audit
from .audit.audit import BenchmarkAudit as BenchmarkAudit
from .audit.audit import audit_benchmarks as audit_benchmarks
from .audit.dimension_runs import compare_runs as compare_runs
from .audit.findings import Thresholds as Thresholds

# banks
from .banks.interchange import from_catsim as from_catsim
from .banks.interchange import from_difficulties as from_difficulties
from .banks.interchange import read_mirt_table as read_mirt_table
from .banks.interchange import read_pyirt as read_pyirt
from .banks.interchange import to_catsim as to_catsim
from .banks.interchange import to_difficulties as to_difficulties
from .banks.interchange import write_mirt_table as write_mirt_table
from .banks.interchange import write_pyirt as write_pyirt

# data
from .data.files.read import read_items as read_items
from .data.files.read import read_responses as read_responses
from .data.files.write import write_responses as write_responses
from .data.responses import ResponseData as ResponseData
from .data.shards.responses import ShardedResponses as ShardedResponses

# diagnostics
from .diagnostics.bootstrap import bootstrap as bootstrap
from .diagnostics.bootstrap import combined_intervals as combined_intervals
from .diagnostics.global_fit import global_fit as global_fit
from .diagnostics.global_fit import likelihood_ratio as likelihood_ratio
from .diagnostics.held_out import HeldOut as HeldOut
from .diagnostics.held_out import calibration_table as calibration_table
from .diagnostics.held_out import held_out_predictions as held_out_predictions
from .diagnostics.item_fit import item_fit as item_fit
from .diagnostics.item_fit import item_zh as item_zh
from .diagnostics.null_control import null_control as null_control
from .diagnostics.respondent_fit import person_zh as person_zh
from .diagnostics.respondent_pairs import (
    benchmirt_pair_comparison as benchmirt_pair_comparison,
)
from .diagnostics.respondent_pairs import compare_respondents as compare_respondents
from .diagnostics.stability import dimension_stability as dimension_stability

# estimators
from .estimators.alignment import align_fits as align_fits
from .estimators.baselines import AdditiveClassifier as AdditiveClassifier
from .estimators.baselines import GroupMeanScoreClassifier as GroupMeanScoreClassifier
from .estimators.baselines import ItemMeanClassifier as ItemMeanClassifier
from .estimators.baselines import MeanScoreClassifier as MeanScoreClassifier
from .estimators.classifier import MIRTClassifier as MIRTClassifier
from .estimators.dimensions import choose_dimensions as choose_dimensions
from .estimators.transformer import MIRTTransformer as MIRTTransformer

# models
from .models.abilities import Abilities as Abilities
from .models.item_bank import ItemBank as ItemBank
from .models.item_bank_file import load_item_bank as load_item_bank
from .models.item_bank_file import save_item_bank as save_item_bank
from .models.items import ItemParameters as ItemParameters

# selection
from .selection.baseline_scorers import RawMeanScorer as RawMeanScorer
from .selection.baseline_scorers import RidgeScorer as RidgeScorer
from .selection.baseline_scorers import StratifiedMeanScorer as StratifiedMeanScorer
from .selection.curves import recommend_size as recommend_size
from .selection.curves import selection_curve as selection_curve
from .selection.curves import summarize_curve as summarize_curve
from .selection.full_scores import FullScoreRegressor as FullScoreRegressor
from .selection.full_scores import compare_scores as compare_scores
from .selection.item_lists import inspect_filter as inspect_filter
from .selection.item_lists import write_item_list as write_item_list
from .selection.selector import InformativeItemSelector as InformativeItemSelector

# exact fits
from .solvers.quadrature.fit import fit_quadrature as fit_quadrature
from .solvers.quadrature.model import ExactModel as ExactModel
from .solvers.quadrature.model import ExactSettings as ExactSettings
from .solvers.quadrature.respondent_scores import score_respondents as score_respondents
from .solvers.quadrature.respondent_scores import sum_score_table as sum_score_table
