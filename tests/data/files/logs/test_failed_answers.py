"""Answers that ended in an error, in the logs of evaluation programs."""

import json

import pytest

from sklearn_mirt import read_responses

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn_mirt.exceptions.ResponseDataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def test_errored_answers_do_not_vanish_from_the_denominator(tmp_path):
    """The caller decides between 2 of 8 and 2 of 6 right answers."""
    scores = [1, 1, 0, 0, 0, 0, None, None]
    lines = [json.dumps({"doc_id": k, "acc": s}) for k, s in enumerate(scores)]
    (tmp_path / "samples_arc.jsonl").write_text("\n".join(lines))
    with pytest.raises(ValueError, match="there is no score .*errors='missing'"):
        read_responses(tmp_path)
    for errors, n_answers in (("missing", 6), ("wrong", 8)):
        loaded = read_responses(tmp_path, errors=errors)
        assert loaded.data.n_observed == n_answers
        assert loaded.data.respondent_means()[0] == pytest.approx(2 / n_answers)
        assert loaded.n_errors == loaded.provenance["n_errors"].sum() == 2
