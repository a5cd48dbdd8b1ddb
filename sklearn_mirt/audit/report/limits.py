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


# What was not run, by the field of the audit that is None then.
_NOT_RUN = {
    "bootstrap": (
        "No bootstrap was run (n_bootstrap, --bootstrap): intervals of abilities "
        "are those of the model, and there are no ranks with intervals."
    ),
    "null": (
        "No null control was run (n_null, --null): nothing is known of what the "
        "same analysis finds in shuffled answers."
    ),
    "held_out": (
        "No answers were held out (held_out): nothing is known of how well the "
        "model predicts what it has not seen."
    ),
}


def _of_this_audit(audit):
    n, about = len(audit.abilities), audit.about or {}
    if not about.get("converged", True):
        yield (
            "The fit did not converge before its largest number of passes; give it "
            "more (max_iter) before trusting any number."
        )
    if n < FEW_RESPONDENTS:
        yield (
            f"There are only {n} respondents (fewer than {FEW_RESPONDENTS}): "
            "correlations with ability are wide, and several verdicts may be chance."
        )
    if not about.get("settings", {}).get("respondent_groups", False):
        yield (
            "Respondents are counted as independent. Checkpoints or fine-tunes of one "
            "model are not: give their family (respondent_groups), or p-values are too "
            "small and intervals too narrow."
        )
    typical = float(audit.abilities["n_answers"].median())
    if typical < _NARROW:
        yield (
            f"A respondent has {typical:.0f} answers at the median: slopes come out "
            "some 10% small, and intervals of abilities too narrow."
        )
    yield from _of_halves(audit.dimensions)
    yield from (
        sentence
        for field, sentence in _NOT_RUN.items()
        if getattr(audit, field) is None
    )


def _of_halves(dimensions):
    if "replicates" not in dimensions:
        yield (
            "Halves of the items were not compared (n_halves=0): nothing is known of "
            "whether the dimensions would come out again, and correlations have the "
            "same answers on both sides."
        )
        return
    lost = dimensions.loc[~dimensions["replicates"].astype(bool), "name"]
    if len(lost):
        yield (
            "Not every dimension comes out of both halves of the items "
            f"({', '.join(map(str, lost))}): take findings about it as open."
        )
