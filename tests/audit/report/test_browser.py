"""The report in a real browser: Debian's Chromium, driven by playwright."""

import os
import shutil
import time
from pathlib import Path

import pytest
from report_cases import HOSTILE, enlarged, hostile_audit, suite_audit

from sklearn_mirt import MIRTTransformer, audit_benchmarks, read_items, read_responses

pytest.importorskip("jinja2", reason="the report needs jinja2")
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no chromium on this machine", allow_module_level=True)

pytestmark = pytest.mark.slow  # starts a browser
_FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)
# Not part of the package: npm install axe-core, then name its axe.min.js.
AXE = os.environ.get("SKLEARN_MIRT_AXE", "node_modules/axe-core/axe.min.js")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(_FLAGS)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    suite = suite_audit(n_bootstrap=10)
    return {
        "suite": (suite, suite.to_html(folder / "suite.html")),
        "hostile": (None, hostile_audit().to_html(folder / "hostile.html")),
    }


@pytest.fixture
def open_report(browser, reports):
    """Function that opens a report; whatever the page says or asks for is a failure."""
    contexts, said, asked = [], [], []

    def opened(name, width=1280, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(reports[name][1].as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=10_000)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert {url.partition(":")[0] for url in asked} <= {"file"}
    assert len(asked) == len(contexts)  # the file itself, nothing else


def names(page):
    return page.eval_on_selector_all(
        "#benchmark-table tbody tr:not([hidden])",
        "rows => rows.map(row => row.cells[0].innerText)",
    )


def test_columns_sort_both_ways(open_report, reports):
    page = open_report("suite")
    table = reports["suite"][0].benchmarks
    head = page.locator("#benchmark-table thead button", has_text="Mean score")
    head.click()
    rising = table["mean_score"].sort_values().index.tolist()
    assert names(page)[0] == rising[-1] and names(page)[-1] == rising[0]
    head.click()
    assert names(page)[0] == rising[0]
    page.locator("#benchmark-table thead button", has_text="Benchmark").press("Enter")
    assert names(page) == sorted(table.index, key=str.lower)
    assert page.locator("#benchmark-table [aria-sort=ascending]").count() == 1


def test_filters(open_report, reports):
    page = open_report("suite")
    page.fill("#filter-name", "wild")
    assert set(names(page)) == {"WildGuardTest", "WildJailbreak"}
    page.fill("#filter-name", "")
    page.select_option("#filter-verdict", "reversed")
    table = reports["suite"][0].benchmarks
    assert names(page) == table.index[table["verdict"] == "reversed"].tolist()
    assert page.inner_text("#filter-count").startswith(f"{len(names(page))} of 16")


def test_links_open_the_section_of_a_benchmark(open_report):
    page = open_report("suite")
    page.locator("#heat-map a", has_text="WMDP").click()
    section = page.locator("details[open] summary")
    assert section.count() == 1 and "WMDP" in section.inner_text()
    page.click("#open-all")
    assert page.locator("details:not([open])").count() == 0


def test_items_can_be_searched_and_one_tells_who_got_it_right(open_report, reports):
    audit = reports["suite"][0]
    page = open_report("suite")
    name = audit.items.index[100]
    page.fill("#item-search", name)
    sync_api.expect(page.locator("#item-table tbody tr")).to_have_count(1)
    button = page.locator("#item-table tbody button")
    button.focus()
    button.press("Enter")
    page.wait_for_selector("#item-panel h4")
    panel = page.inner_text("#item-panel")
    scores = audit.responses.to_wide()[:, 100]
    assert f"Got it right ({int(scores.sum())})" in panel
    assert audit.items["text"].iloc[100] in panel
    wrong = page.locator("#item-panel h4", has_text="wrong").locator("+ p").inner_text()
    people = audit.abilities.index
    listed = wrong.split(", and ")[0].split(", ")
    assert set(listed) <= set(people[scores == 0])


# Walks over the plane within the page, until something is under the pointer.
WALK = """() => {
  const plane = document.getElementById("plane");
  const box = plane.getBoundingClientRect();
  for (let x = box.left + 20; x < box.right; x += 6) {
    for (let y = box.top + 10; y < box.bottom - 20; y += 6) {
      plane.dispatchEvent(new PointerEvent("pointermove", {clientX: x, clientY: y}));
      if (document.getElementById("tip").hidden) continue;
      plane.dispatchEvent(new PointerEvent("pointerleave"));
      return [x, y];
    }
  }
}"""


def tip_of(page, item):
    """Search for an item, put the pointer on it, return what is shown there."""
    page.fill("#item-search", item)
    sync_api.expect(page.locator("#item-table tbody tr")).to_have_count(1)
    page.locator("#plane").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    place = page.evaluate(WALK)
    assert place is not None, "nothing to be found under the pointer"
    page.mouse.move(0, 0)
    assert page.locator("#tip").is_hidden()
    page.mouse.move(*place)
    sync_api.expect(page.locator("#tip")).to_be_visible()
    return page.inner_text("#tip")


def test_hover_shows_the_item_under_the_pointer(open_report, reports):
    item = reports["suite"][0].items.iloc[5]
    text = tip_of(open_report("suite"), item.name)
    assert item.name in text and item["text"] in text


def test_hover_shows_the_right_item_after_the_list_was_sorted(open_report):
    page = open_report("suite")
    page.select_option("#axis-y", "2")  # mean score
    page.locator("#plane").scroll_into_view_if_needed()
    page.wait_for_timeout(100)
    place = page.evaluate(WALK)
    page.mouse.move(*place)
    before = page.inner_text("#tip")
    page.mouse.move(0, 0)
    # a click by the page itself: the window does not scroll to the head of the list
    page.evaluate("document.querySelector('#item-table thead button').click()")
    page.mouse.move(*place)
    assert page.inner_text("#tip") == before


def test_abilities_sort_and_search(open_report, reports):
    audit = reports["suite"][0]
    page = open_report("suite")
    first = page.locator("#respondent-table tbody th").first
    assert first.inner_text() == audit.abilities["dim1"].idxmax()
    page.select_option("#respondent-sort", "1")
    assert first.inner_text() == audit.abilities["dim2"].idxmax()
    page.fill("#respondent-search", "007")
    assert page.locator("#respondent-table tbody tr").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_mode_follows_the_system_and_the_button(open_report, scheme):
    page = open_report("suite", color_scheme=scheme)

    def background():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    dark, light = "rgb(20, 23, 28)", "rgb(255, 255, 255)"
    assert background() == (dark if scheme == "dark" else light)
    page.click("#theme")
    assert background() == light
    page.click("#theme")
    assert background() == dark
    assert page.inner_text("#theme") == "Dark"


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["suite", "hostile"])
def test_the_page_is_no_wider_than_the_window(open_report, name, width):
    page = open_report(name, width=width)
    page.click("#open-all")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_hostile_names_are_shown_and_nothing_runs(open_report):
    page = open_report("hostile")
    page.click("#open-all")
    page.locator("#item-table thead button").first.click()
    for k in range(12):
        page.locator("#item-table tbody button").nth(k).click()
        page.wait_for_selector("#item-panel h4")
    page.locator("#plane").hover()
    page.wait_for_timeout(200)
    assert page.evaluate("window.hit") is None
    assert page.locator("img, iframe, object, embed").count() == 0
    assert page.locator("script").count() == 2
    shown = page.evaluate("document.body.textContent")
    for name in HOSTILE:
        # the parser has no null characters and one kind of line end
        assert name.replace("\x00", "\ufffd") in shown or name in shown
    title = page.locator("#heat-map th a").all_inner_texts()
    assert len(title) == len(HOSTILE)


def test_a_keyboard_is_enough(open_report):
    page = open_report("suite")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "summary"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.tagName"))
    assert {"A", "BUTTON", "INPUT", "SELECT"} & reached


def test_print_shows_every_section_open(open_report):
    page = open_report("suite")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator("header").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(open_report, scheme):
    if not Path(AXE).is_file():
        pytest.skip("axe-core is not there: npm install axe-core, or SKLEARN_MIRT_AXE")
    page = open_report("suite", color_scheme=scheme)
    page.locator("details summary", has_text="HarmBench").click()
    page.locator("#item-table tbody button").first.click()
    page.wait_for_selector("#item-panel h4")
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))
    result = page.evaluate("axe.run({resultTypes: ['violations']})")
    faults = [
        (fault["id"], fault["impact"], fault["nodes"][0]["html"][:200])
        for fault in result["violations"]
        if fault["impact"] in {"serious", "critical"}
    ]
    assert faults == []


def test_a_report_of_82756_items_is_small_and_loads_quickly(browser, reports, tmp_path):
    # the shape of the largest real suite at hand, without its fit
    big = enlarged(reports["suite"][0], 82_756, 90)
    path = big.to_html(tmp_path / "big.html")
    assert path.stat().st_size < 25e6
    page = browser.new_page()
    times = []
    for _ in range(3):  # another process may be using the machine
        start = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=30_000)
        times.append(time.perf_counter() - start)
    page.close()
    assert min(times) < 5, times


@pytest.fixture(scope="module")
def real_report(real_data, tmp_path_factory):
    """Audit and report of 90 models and 82,756 items of 29 test sets."""
    folder = real_data("nlu_test_sets")
    items = read_items(folder / "items.csv.gz")
    responses = read_responses(folder / "responses.csv.gz", items=items).data
    # a rough fit: the page is what is looked at
    audit = audit_benchmarks(
        responses,
        items=items,
        estimator=MIRTTransformer(2, max_iter=15),
        n_halves=0,
    )
    return audit, audit.to_html(tmp_path_factory.mktemp("nlu") / "nlu.html")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_report_of_real_test_sets_works(real_report, reports, open_report):
    audit, path = real_report
    reports["nlu"] = real_report
    assert path.stat().st_size < 25e6
    page = open_report("nlu", color_scheme="dark")
    table = audit.benchmarks
    assert len(names(page)) == len(table) == 29
    page.locator("#benchmark-table thead button", has_text="Mean score").click()
    assert names(page)[-1] == table["mean_score"].idxmin()
    page.fill("#filter-name", table.index[3])
    assert table.index[3] in names(page) and len(names(page)) < 29
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(20, 23, 28)"
    item = audit.items.index[70_000]
    assert item in tip_of(page, item)
    page.locator("#item-table tbody button").click()
    page.wait_for_selector("#item-panel h4")
    right = int(audit.responses.to_wide()[:, 70_000].sum())
    assert f"Got it right ({right})" in page.inner_text("#item-panel")
    page.set_viewport_size({"width": 400, "height": 900})
    page.click("#open-all")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
