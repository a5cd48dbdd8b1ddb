"""The report says what the tables say, and names stay text."""

import base64
import html
import io
import json
import os
import re
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from report_cases import HOSTILE, hostile_audit, suite_audit

from sklearn_mirt import ResponseData
from sklearn_mirt.audit.provenance import fingerprint

pytest.importorskip("jinja2", reason="the report needs jinja2")

from sklearn_mirt.audit import report  # noqa: E402
from sklearn_mirt.audit.report import build_report, formats  # noqa: E402
from sklearn_mirt.audit.report.payload import explorer_payload, packed_answers  # noqa: E402
from sklearn_mirt.audit.tables import average_information, is_backwards  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def audit():
    return suite_audit(n_bootstrap=10)  # as in the browser tests


@pytest.fixture(scope="module")
def page(audit):
    return build_report(audit, title="A & B")


@pytest.fixture(scope="module")
def hostile():
    audit = hostile_audit()
    return audit, build_report(audit, title=HOSTILE[0])


class Tags(HTMLParser):
    """What a parser of HTML takes for tags and attributes."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attributes)


def embedded(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(found.group(1))


# ------------------------------------------------------------------------- what it says


def test_every_finding_is_in_the_summary_and_what_surprises_comes_first(audit, page):
    text = html.unescape(page)
    for finding in audit.findings:
        assert finding in text
    summary = text[text.index('id="summary"') : text.index('id="heat-map"')]
    order = [summary.index(f) for f in audit.findings]
    verdicts = audit.benchmarks["verdict"].tolist()
    assert (
        order[verdicts.index("reversed")]
        < order[verdicts.index("measures what it says")]
    )


def test_a_title_is_escaped(page):
    assert '<h1 id="h-summary" dir="auto">A &amp; B</h1>' in page


def test_sections_asked_for_are_there(page):
    sections = ("summary", "heat-map", "table", "benchmarks", "items", "abilities")
    for name in (*sections, "trust", "made"):
        assert f'<section id="{name}"' in page
    assert "Responsible use" in page and "hide unsafe behaviour" in page


def test_held_out_answers_stand_beside_the_baselines(audit, page):
    loss = audit.held_out.scores.loc["this model", "log_loss"]
    assert f"{loss:.3f}" in page and "respondent + item" in page
    assert len(audit.held_out.scores) == 5


def test_what_was_not_done_is_said():
    page = build_report(suite_audit(held_out=0, n_halves=0))
    assert "No answers were held out" in page
    assert "The null control was not run" in page
    assert "Halves of the items were not compared" in page


def test_how_it_was_made_can_be_checked(audit, page):
    assert fingerprint(audit.responses) in page
    assert "random_state=0" in page and "scikit-learn" in page


def test_nothing_is_loaded_from_elsewhere(page):
    assert not re.findall(r'(?:src|href)="(?!#|data:,)', page)
    assert "url(" not in page and "@import" not in page and "fetch(" not in page
    assert "default-src 'none'" in page


def test_the_policy_names_the_script_that_is_there(page):
    import hashlib

    script = page[page.rindex("<script>") + len("<script>") : page.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page


def test_every_part_of_the_script_is_in_the_page(page):
    parts = list((Path(report.__file__).parent / "templates" / "script").glob("*.js"))
    texts = [part.read_text(encoding="utf-8") for part in parts]
    assert len(parts) > 1 and all(text in page for text in texts)
    assert max(text.count("\n") for text in texts) < 250


# ------------------------------------------------------------------------ hostile names


def test_hostile_names_stay_text(hostile):
    _, page = hostile
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    parser = Tags()
    parser.feed(body)
    assert "script" not in parser.tags and "img" not in parser.tags
    assert not [name for name in parser.attributes if name.startswith("on")]
    assert page.count("<script") == 2


def test_hostile_names_come_through_whole(hostile):
    audit, page = hostile
    data = embedded(page)
    assert data["items"]["id"] == [str(name) for name in audit.items.index]
    assert data["respondents"]["id"] == [str(name) for name in audit.abilities.index]
    text = html.unescape(page)
    for name in HOSTILE:
        assert name.replace("\r", "") in text


# ------------------------------------------------------------------------- data carried


def unpacked(answers, n_items, n_respondents):
    raw = zlib.decompress(base64.b64decode(answers["bytes"]))
    table = np.frombuffer(raw, np.uint8).reshape(n_items, answers["stride"])
    if answers["bits"] == 8:
        return np.where(table == 255, np.nan, table / 250)
    fours = (table[:, :, None] >> np.array([0, 2, 4, 6])) & 3
    codes = fours.reshape(n_items, -1)[:, :n_respondents].astype(float)
    return np.where(codes == 2, np.nan, codes)


@pytest.mark.parametrize("n_respondents", [1, 4, 5, 11])
@pytest.mark.parametrize("scores", ["binary", "fractions"])
def test_packed_answers_come_back(n_respondents, scores):
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (n_respondents, 7)).astype(float)
    if scores == "fractions":
        table = rng.integers(0, 251, table.shape) / 250
        table[0, 0] = 0.5
    table[rng.random(table.shape) < 0.2] = np.nan
    packed = packed_answers(ResponseData.from_wide(table))
    back = unpacked(packed, 7, n_respondents)
    np.testing.assert_allclose(back.T, table, atol=0.002)


def test_the_explorer_has_the_parameters_of_every_item(audit, page):
    items = embedded(page)["items"]
    np.testing.assert_allclose(items["slopes"][1], audit.items["slope_dim2"], atol=6e-4)
    np.testing.assert_allclose(items["mean"], audit.items["mean_score"], atol=6e-4)
    names = [items["benchmarks"][b] for b in items["benchmark"]]
    assert names == audit.items["benchmark"].tolist()
    assert items["text"][3] == audit.items["text"].iloc[3]


def test_texts_may_be_given_by_id(audit):
    name = audit.items.index[4]
    items = explorer_payload(audit, {name: "only this"})["items"]
    assert items["text"][4] == "only this" and items["text"][5] == ""


def test_backwards_items_are_those_of_negative_slope_beyond_error(audit):
    found = is_backwards(audit.items, ["dim1", "dim2"])
    reversed_items = audit.items["benchmark"] == "WMDP"
    assert found[reversed_items].mean() > 0.5 > found[~reversed_items].mean() * 10


def test_item_information_is_the_mean_over_respondents(audit):
    model = audit.estimator
    p = model.item_parameters_.probability(model.abilities_)
    expected = (p * (1 - p)).mean(0) * model.item_parameters_.mdisc**2
    np.testing.assert_allclose(average_information(model), expected)


# ------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(-0.5, "−0.50"), (-0.001, "0.00"), (np.nan, "–"), (1234.5, "1,234.50")],
)
def test_numbers(value, text):
    assert formats.number(value) == text


@pytest.mark.parametrize("r", np.linspace(-1, 1, 41))
def test_every_cell_of_the_heat_map_can_be_read(r):
    style = formats.colour(r)
    back = [int(v) for v in re.findall(r"rgb\((\d+),(\d+),(\d+)\)", style)[0]]
    text = 1.0 if style.endswith("#fff") else 0.0
    lighter, darker = sorted([formats._luminance(back), text], reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5  # WCAG AA


# --------------------------------------------------------------------- files, notebooks


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_report_is_not_readable_by_all_under_a_private_umask(audit, tmp_path):
    """It was 0644 whatever the umask: answers to a private benchmark, for everyone."""
    before = os.umask(0o077)
    try:
        path = audit.to_html(tmp_path / "report.html")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_file_is_written_at_once_or_not_at_all(audit, tmp_path, monkeypatch):
    path = audit.to_html(tmp_path / "report.html")
    before = path.read_bytes()
    monkeypatch.setattr("os.replace", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        audit.to_html(path)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_the_umask_decides_who_may_read_the_file(audit, tmp_path):
    before = os.umask(0o077)
    try:
        path = audit.to_html(tmp_path / "report.html")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def test_without_jinja2_the_message_says_what_to_install(audit, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=r"sklearn-mirt\[report\]"):
        audit.to_html(tmp_path / "report.html")
    assert audit._repr_html_() is None


def test_a_notebook_shows_heat_map_and_findings(audit, hostile):
    shown = audit._repr_html_()
    assert "<table" in shown and html.unescape(shown).count("WMDP runs backwards") == 1
    assert "<script" not in hostile[0]._repr_html_()


def test_repr_and_terminal_are_short(audit):
    from rich.console import Console

    assert repr(audit).splitlines()[0].endswith("16 benchmarks, 2 dimensions)")
    console = Console(width=100, file=io.StringIO())
    console.print(audit)
    assert "WMDP" in console.file.getvalue()
    assert "reversed" in console.file.getvalue()


# ----------------------------------------------------------------- held-out, provenance


def test_held_out_predictions_beat_the_baselines_on_a_suite_of_two_abilities(audit):
    losses = audit.held_out.scores["log_loss"]
    assert losses.idxmin() == "this model"
    assert audit.held_out.n_answers == pytest.approx(
        0.1 * audit.responses.n_observed, rel=0.05
    )


def test_the_fingerprint_changes_with_any_answer_and_any_id():
    table = np.array([[0, 1.0], [np.nan, 1]])
    first = fingerprint(ResponseData.from_wide(table))
    assert first == fingerprint(ResponseData.from_wide(table.copy()))
    changed = [
        ResponseData.from_wide(np.array([[0, 0.0], [np.nan, 1]])),
        ResponseData.from_wide(table, items=["a", "b"]),
        ResponseData.from_wide(np.array([[0, 1.0], [0, 1]])),
    ]
    assert len({first, *map(fingerprint, changed)}) == 4
