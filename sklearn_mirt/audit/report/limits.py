"""How far an audit can be trusted: what its own tables say against it."""

FEW_RESPONDENTS = 30
_NARROW = 100  # items a respondent; with fewer, intervals of abilities are too narrow


def limits(audit):
    """Return the limits of an audit as sentences, the weightiest first.

    Parameters
    ----------
    audit : BenchmarkAudit

    Returns
    -------
    sentences : list of str
    """
    return [*_of_this_audit(audit), *_ALWAYS]


_ALWAYS = (
    "Dimensions are found, not given: they come from the answers and a rotation to "
    "simple structure. Their names come from the stated categories of the benchmarks "
    "that go with them; what they mean is for the reader to say.",
    "Correlations describe these respondents. Others, above all stronger ones, may "
    "order the benchmarks differently, and a benchmark can saturate within months.",
    "Missing answers are taken as missing at random. Errors and refusals count as "
    "missing unless they were given as 0.",
    "The fit is a variational approximation, close to maximum likelihood for many "
    "items; its intervals of item parameters are somewhat too narrow.",
)


def _of_this_audit(audit):
    n, about = len(audit.abilities), audit.about or {}
    sentences = []
    if not about.get("converged", True):
        sentences.append(
            "The fit did not converge before its largest number of passes; give it "
            "more (max_iter) before trusting any number."
        )
    if n < FEW_RESPONDENTS:
        sentences.append(
            f"There are only {n} respondents (fewer than {FEW_RESPONDENTS}): "
            "correlations with ability are wide, and several verdicts may be chance."
        )
    if not about.get("settings", {}).get("respondent_groups", False):
        sentences.append(
            "Respondents are counted as independent. Checkpoints or fine-tunes of one "
            "model are not: give their family (respondent_groups), or p-values are too "
            "small and intervals too narrow."
        )
    typical = float(audit.abilities["n_answers"].median())
    if typical < _NARROW:
        sentences.append(
            f"A respondent has {typical:.0f} answers at the median: slopes come out "
            "some 10% small, and intervals of abilities too narrow."
        )
    lost = [
        str(row["name"])
        for _, row in audit.dimensions.iterrows()
        if "replicates" in audit.dimensions and not row["replicates"]
    ]
    if lost:
        sentences.append(
            "Not every dimension comes out of both halves of the items "
            f"({', '.join(lost)}): take findings about it as open."
        )
    return sentences + _not_run(audit)


def _not_run(audit):
    sentences = []
    if "replicates" not in audit.dimensions:
        sentences.append(
            "Halves of the items were not compared (n_halves=0): nothing is known of "
            "whether the dimensions would come out again, and correlations have the "
            "same answers on both sides."
        )
    if audit.bootstrap is None:
        sentences.append(
            "No bootstrap was run (n_bootstrap, --bootstrap): intervals of abilities "
            "are those of the model, and there are no ranks with intervals."
        )
    if audit.null is None:
        sentences.append(
            "No null control was run (n_null, --null): nothing is known of what the "
            "same analysis finds in shuffled answers."
        )
    if audit.held_out is None:
        sentences.append(
            "No answers were held out (held_out): nothing is known of how well the "
            "model predicts what it has not seen."
        )
    return sentences
