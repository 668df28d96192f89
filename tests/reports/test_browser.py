"""The report in a real browser: tabs, sorting, filters, search, themes, keyboard, a phone, and hostile data."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from taskloom.core import Example, Item, Labels, Suite, Task
from taskloom.messages import Note
from taskloom.reports import How, Summary, budget, card, pages, render, summarise
from taskloom.reports.challenge_board import board_page, challenge_boards
from taskloom.reports.figures import Figure
from taskloom.reports.plot_files import standalone
from taskloom.reports.training import training
from taskloom.reports.transfer_plots import Arrow, gain_graph, gain_matrix
from taskloom.reports.views.ladder import Ladder
from taskloom.reports.views.learning import Learning
from taskloom.sample_sizes import SampleSize, SampleSizes
from taskloom.scores import metric, score
from taskloom.stats import Estimate
from taskloom.studies.budget import Share, StudyBudget
from taskloom.studies.costs import Cost
from taskloom.studies.curves import LossSet, LossTrace
from taskloom.studies.results import Look, Outcome, Results
from taskloom.suites import rows

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ATTACK = '<img src=x onerror="document.title=\'attacked\'"><script>document.title="attacked"</script>'
BREAKOUT = '</script></style></template>"><svg onload=alert(1)> {{7*7}} ${7*7}'
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1280, "height": 900}

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Any) -> Iterator[Callable[..., Any]]:
    """Open a page; nothing may go wrong in it."""
    opened, faults = [], []

    def visited(text: str, name: str = "page.html", **settings: Any) -> Any:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        page = browser.new_page(**{"viewport": SCREEN, **settings})
        opened.append(page)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: faults.append(request.url) if request.url[:5] != "file:" else None)
        page.goto(path.as_uri())
        return page

    yield visited
    for page in opened:
        page.close()
    assert faults == []


@pytest.fixture(scope="module")
def text(summary: Summary) -> str:
    return render(summary, "html")


def shown_board(page: Any) -> str:
    return str(page.locator("section.board:visible h2").inner_text())


def items_of(page: Any, task: str) -> Any:
    """Open a task, and give its browser of items."""
    details = page.locator("details.task", has_text=task).first
    details.locator("summary").first.click()
    details.locator(".item").first.wait_for()
    return details


# --- boards ----------------------------------------------------------------------------------------------------------


def test_tabs_choose_the_metric_and_the_shots(visit, text, summary):
    page = visit(text)
    assert page.locator("section.board:visible").count() == 1
    assert page.locator("section.board").count() == len(summary.leaderboards)
    page.get_by_role("tab", name="macro-f1", exact=True).click()
    page.get_by_role("tab", name="0 shots").click()
    assert shown_board(page) == "macro-f1 at 0 shots"
    assert page.get_by_role("tab", selected=True).all_inner_texts()[1] == "0 shots"


def test_arrow_keys_move_between_tabs(visit, text):
    page = visit(text)
    first = page.get_by_role("tab", selected=True).first
    before = shown_board(page)
    first.focus()
    page.keyboard.press("ArrowRight")
    assert shown_board(page) != before
    assert page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    page.keyboard.press("ArrowLeft")
    assert shown_board(page) == before
    panel = page.get_by_role("tab", selected=True).first.get_attribute("aria-controls")
    assert page.locator(f"#{panel}").is_visible()


def test_the_curves_of_a_metric_follow_its_boards(visit, text):
    page = visit(text)
    for shots in ("0 shots", "5 shots"):
        page.get_by_role("tab", name=shots).click()
        assert page.locator("section.board:visible .curves").count() == 1


def test_columns_sort_both_ways_and_say_so(visit, text):
    page = visit(text)
    table = page.locator("table.matrix:visible")
    head = table.locator("thead tr:first-child th").nth(1)
    values = [f"tbody tr td:nth-child(2) b >> nth={n}" for n in range(table.locator("tbody tr").count())]
    for order in ("descending", "ascending"):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        found = [float(table.locator(value).inner_text()) for value in values]
        assert found == sorted(found, reverse=order == "descending")
    assert table.locator("[aria-sort]").count() == 1


def test_names_of_tasks_lead_to_them(visit, text):
    page = visit(text)
    page.locator("table.matrix:visible tbody a").first.click()
    page.locator("details.task[open]").wait_for()
    assert page.locator("details.task[open]").count() == 1


def test_categories_unfold(visit):
    page = visit(render(many_tasks(), "html"))
    rows_ = page.locator("table.matrix:visible tbody tr:visible")
    folded = rows_.count()
    button = page.locator("table.matrix:visible tbody button").first
    assert button.get_attribute("aria-expanded") == "false"
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    assert rows_.count() > folded


# --- items -----------------------------------------------------------------------------------------------------------


def test_items_are_filtered_searched_and_paged(visit, text):
    task = items_of(visit(text), "title->category")
    status = task.get_by_role("status")
    assert status.inner_text() == "1 to 20 of 60 items"
    assert task.locator(".item").count() == 20
    task.get_by_role("button", name="Next").click()
    assert status.inner_text() == "21 to 40 of 60 items"
    task.get_by_role("button", name="Disagreement").click()
    assert {"✓ right", "✗ wrong"} <= set(task.locator(".item").first.locator("td.n").all_inner_texts())
    task.get_by_label("learner").select_option("weak")
    task.get_by_role("button", name="Wrong", exact=True).click()
    rows_ = task.locator(".item tr", has=task.page.locator("th", has_text="weak"))
    assert set(rows_.locator("td.n").all_inner_texts()) == {"✗ wrong"}
    task.get_by_role("button", name="All", exact=True).click()
    task.get_by_label("search").fill("ALERT(1)")
    task.locator(".item mark").first.wait_for()
    assert all("alert(1)" in found.lower() for found in task.locator(".item dl").all_inner_texts())
    task.get_by_label("search").fill("no such text")
    status.get_by_text("No item matches.").wait_for()


def test_a_setting_can_be_chosen(visit, text):
    task = items_of(visit(text), "title->category")
    task.get_by_label("setting").select_option("0 shots")
    assert all("0 shots" in head for head in task.locator(".item header").all_inner_texts())
    task.get_by_label("setting").select_option("all settings")
    assert task.get_by_role("status").inner_text() == "1 to 20 of 120 items"


def test_twenty_thousand_items_are_shown_by_the_page(visit):
    task = items_of(visit(render(many_items(20_000), "html")), "large")
    assert task.get_by_role("status").inner_text() == "1 to 20 of 20,000 items"
    assert task.locator(".item").count() == 20
    task.get_by_label("search").fill("item 19,999")
    task.get_by_role("status").get_by_text("1 to 1 of 1 items").wait_for()


# --- themes, sizes, readers ------------------------------------------------------------------------------------------


def test_the_theme_follows_the_system_and_the_button(visit, text):
    page = visit(text, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(paper) == "rgb(255, 255, 255)" != dark
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(paper) == dark


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_enough_contrast(visit, text, theme):
    page = visit(text, color_scheme=theme)
    items_of(page, "title->category")
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate(CONTRASTS) == []


@pytest.mark.parametrize("width", [390, 768, 1280, 1600])
def test_no_page_scrolls_sideways(visit, text, width):
    page = visit(text, viewport={"width": width, "height": 900})
    items_of(page, "title->category")
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("viewport", [PHONE, SCREEN])
def test_labels_of_plots_do_not_overlap_or_leave_the_plot(visit, text, viewport):
    page = visit(text, viewport=viewport)
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, SCREEN])
def test_a_page_about_training_can_be_read_everywhere(visit, make, viewport, scheme):
    page = visit(render(trained(make), "html"), viewport=viewport, color_scheme=scheme)
    assert page.locator("#training .multiples svg:visible").count() == 2
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def trained(make: Callable[..., Results]) -> Summary:
    """Sum up learners of which two were trained and looked at, with views of that."""
    costs = {"strong": Cost(seconds=9, fitting=8, items=20, trained=10**6, taught=9), "weak": Cost(seconds=2, fitting=1,
             items=20, trained=10**4, taught=5)}  # fmt: skip
    made = make()
    outcomes = [replace(o, cost=costs.get(o.learner, o.cost)) for o in made.outcomes if o.shots]
    looks = {o.cell: tuple(Look(set=part, step=n, items=o.items, records=o.records, scores=o.scores)
             for part in ("query", "support") for n in (0, 30)) for o in outcomes if o.cost.trained}  # fmt: skip
    found = replace(
        made, outcomes=tuple(replace(o, looks=looks.get(o.cell, ())) for o in outcomes), views=(Learning(), Ladder())
    )
    losses: dict[LossSet, tuple[tuple[int, float], ...]] = {
        "training": ((0, 3.0), (20, 0.1)), "validation": ((10, 1.0), (20, 0.4))
    }  # fmt: skip
    traces = [
        LossTrace(cell="c", kind="adapt", learner=name, what="lora", shots=5, seed=0, training=0, set=of, points=points)
        for name in costs
        for of, points in losses.items()
    ]
    return replace(summarise(found, How(count=20)), training=training(found, traces))


def test_the_page_can_be_read_without_its_script(visit, text, summary):
    page = visit(text, java_script_enabled=False)
    boards = page.locator("details.board")
    assert boards.count() == len(summary.leaderboards)
    assert boards.first.locator("table.matrix").is_visible()
    boards.nth(1).locator("summary").first.click()
    assert boards.nth(1).locator("table.matrix").is_visible()
    task = page.locator("details.task").first
    task.locator("summary").first.click()
    assert task.locator(".samples").is_visible()


def test_a_notebook_shows_the_page_without_its_script(visit, summary):
    page = visit(f"<!doctype html><title>notebook</title>{summary._repr_html_()}")
    inside = page.frame_locator("iframe")
    assert inside.locator("table.matrix").first.is_visible()
    assert inside.locator("details.board").count() == len(summary.leaderboards)


@pytest.mark.parametrize("viewport", [PHONE, SCREEN])
def test_a_card_is_a_page_in_the_same_style(visit, suite, viewport):
    page = visit(card.page(card.sheet(suite)), viewport=viewport)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, SCREEN])
def test_the_board_of_a_challenge_can_be_read_everywhere(visit, submitted, viewport, scheme):
    text = board_page(submitted, challenge_boards(submitted, How(count=60)))
    page = visit(text, viewport=viewport, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate(CONTRASTS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert page.evaluate("document.scripts.length") == 0


# --- hostile data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hostile", [ATTACK, BREAKOUT])
def test_nothing_of_the_data_runs(visit, hostile):
    page = visit(render(hostile_results(hostile), "html", How(count=20)))
    items_of(page, hostile)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    page.get_by_label("search").fill(hostile[:9])
    page.locator("mark").first.wait_for()
    assert page.title() == f"{hostile} · taskloom"
    assert page.locator("img, svg[onload], script:not([type])").count() == 1  # our own script
    shown = page.locator("body").inner_text()
    assert shown.count(hostile) > 10


def drawn_map(hostile: str) -> str:
    """Draw a map of transfer, and arrows, between tasks with hostile names."""
    names = [f"{hostile}{n}" for n in range(3)]
    arrows = [Arrow(a, b, 1.0, hostile, "significant") for a in names for b in names]
    return gain_matrix(arrows, names, names, hostile, width=900) + gain_graph(arrows, names, names, hostile, width=900)


def transfer_page(hostile: str) -> str:
    figure = Figure(title=hostile, columns=(hostile,), rows=((hostile,),), notes=(hostile,), plot=drawn_map(hostile))
    return render(replace(summarise(hostile_results(hostile), How(count=20)), figures=(figure,)), "html")


def planning_page(hostile: str) -> str:
    size = SampleSize(
        episodes=9, items=9, seconds=9.0, width=0.1, coverage=Estimate(0.95, 0.94, 0.96, 9), detectable=0.1,
        overall_width=0.1, overall_detectable=0.1,
    )  # fmt: skip
    share = Share(name=hostile, fit=1.0, item=1.0, seconds=1.0, width=0.1, detectable=0.1)
    return budget.page(
        StudyBudget(
            study=hostile, seconds=9.0, training=0.0, loading=0.0, sizes=SampleSizes(seconds=9.0, choices=(size,)),
            others={}, learners=(share,), tasks=(share,), lines=hostile, notes=(Note.of("error", text=hostile),),
        )
    )  # fmt: skip


def challenge_page(hostile: str, submitted: Results) -> str:
    renamed = {name: f"{hostile}{at}" for at, name in enumerate(submitted.learners)}
    outcomes = tuple(replace(o, learner=renamed[o.learner]) for o in submitted.outcomes)
    found = replace(
        submitted, name=hostile, command=hostile, outcomes=outcomes,
        learners=dict.fromkeys(renamed.values(), hostile), baselines=(),
        settings={renamed[name]: {**of, "model": hostile} for name, of in submitted.settings.items()},
    )  # fmt: skip
    return board_page(found, challenge_boards(found, How(count=20)))


@pytest.mark.parametrize("hostile", [ATTACK, BREAKOUT])
@pytest.mark.parametrize("kind", ["card", "transfer", "planning", "challenge"])
def test_nothing_of_the_data_runs_in_any_page(visit, submitted, hostile, kind):
    pages_of = {
        "card": lambda: card.page(card.sheet(hostile_results(hostile).suite)),
        "transfer": lambda: transfer_page(hostile),
        "planning": lambda: planning_page(hostile),
        "challenge": lambda: challenge_page(hostile, submitted),
    }
    page = visit(pages_of[kind]())
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.locator('meta[http-equiv="Content-Security-Policy"]').count() == 1
    assert page.locator("img, iframe, [onload], [onerror], body script:not([type])").count() == (kind == "transfer")
    assert "attacked" not in page.title().removeprefix(hostile)
    assert hostile in page.locator("body").inner_text()


@pytest.mark.parametrize("hostile", [ATTACK, BREAKOUT])
def test_nothing_of_the_data_runs_in_a_plot_that_stands_alone(visit, hostile):
    page = visit(standalone(drawn_map(hostile)), "plot.svg")
    assert page.evaluate("document.querySelectorAll('script, img, image, a, foreignObject, [onload]').length") == 0
    assert page.evaluate("document.documentElement.getAttribute('aria-label')").startswith(hostile)


@pytest.mark.parametrize("policy", [True, False])
def test_the_policy_stops_what_would_not_be_escaped(browser, tmp_path, policy):
    """The second line: no script, picture, frame or style is loaded or run; without the policy, all are."""
    with asked_server() as (url, asked):
        parts = ["<script>document.title='attacked'</script>", f"<img src='{url}/image'><iframe src='{url}/frame'>"]
        parts = [f"<style>body{{background:url('{url}/style')}}</style>", *parts]
        text = pages.document("x", parts)
        (tmp_path / "page.html").write_text(text if policy else text.replace("Content-Security-Policy", "none"))
        page = browser.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_load_state("networkidle")
        assert page.title() == ("x · taskloom" if policy else "attacked")
        page.close()
    assert {*asked} == (set() if policy else {"/image", "/frame", "/style"})


@contextmanager
def asked_server() -> Iterator[tuple[str, list[str]]]:
    """Serve nothing on this machine, and note what is asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def hostile_results(hostile: str) -> Results:
    """Make results in which every name and text is hostile."""
    output = Labels((hostile, "other"))
    task = Task(id=hostile, instruction=f"Do {hostile}", output=output, metrics=("accuracy", "macro-f1"),
                tags={"category": (hostile,)})  # fmt: skip
    examples = [Example(Item(f"{hostile}{n}", {hostile: f"{hostile}{n}"}), (hostile,), str(n)) for n in range(8)]
    suite = Suite(id=hostile, tasks={hostile: task}, pools={hostile: {"all": rows.pool(task, examples)}})
    names = (f"{hostile}1", f"{hostile}2", "majority")
    outcomes = tuple(outcome(suite, hostile, name, shots) for name in names for shots in (0, 4))
    return Results(
        name=hostile, command=hostile, suite=suite, learners=dict.fromkeys(names, hostile), baselines=("majority",),
        outcomes=outcomes, failures=(), missing=0, skipped={},
    )  # fmt: skip


def outcome(suite: Suite, task: str, learner: str, shots: int = 0) -> Outcome:
    examples = suite.pools[task]["all"].take(range(len(suite.pools[task]["all"])))
    output = suite.tasks[task].output
    assert isinstance(output, Labels)
    answers = tuple(output.names[(n + len(learner)) % 2] for n in range(len(examples)))
    gold = tuple(e.gold for e in examples)
    return Outcome(
        cell="", task=task, learner=learner, shots=shots, seed=0, index=0, pool="all",
        rows=tuple(range(len(examples))), items=tuple(e.item.id for e in examples), answers=answers, gold=gold,
        scores={name: score(metric(name, output), gold, answers, output) for name in suite.tasks[task].metrics},
        counts={}, cost=Cost(),
    )  # fmt: skip


def suite_of(count: int, tasks: int = 1) -> Suite:
    output = Labels(("yes", "no"))
    made, pools = {}, {}
    for number in range(tasks):
        name = "large" if tasks == 1 else f"task-{number}"
        made[name] = Task(id=name, instruction=name, output=output, metrics=("accuracy",),
                          tags={"category": (f"category {number % 3}",)})  # fmt: skip
        examples = [Example(Item(str(n), {"input": f"item {n:,}"}), ("yes",), str(n)) for n in range(count)]
        pools[name] = {"all": rows.pool(made[name], examples)}
    return Suite(id="large", tasks=made, pools=pools)


def summary_of(suite: Suite, names: tuple[str, ...]) -> Summary:
    outcomes = tuple(outcome(suite, task, name) for task in suite.tasks for name in names)
    return summarise(
        Results(
            name="large", command="", suite=suite, learners=dict.fromkeys(names, "made up"), baselines=(),
            outcomes=outcomes, failures=(), missing=0, skipped={},
        ),
        How(count=20),
    )  # fmt: skip


def many_items(count: int) -> Summary:
    return summary_of(suite_of(count), ("a", "bb", "ccc"))


def many_tasks() -> Summary:
    return summary_of(suite_of(6, tasks=50), ("a", "bb"))


def test_what_was_not_run_has_a_mark(visit, results):
    tasks = [o for o in results.outcomes if not (o.learner == "weak" and o.task == "title->category")]
    waiting = frozenset({("weak", "title->category", 5), ("weak", "title->category", 0)})
    page = visit(render(replace(results, outcomes=tuple(tasks), not_run=waiting), "html", How(count=20)))
    row = page.locator("table.matrix:visible tbody tr", has_text="title->category")
    assert row.locator("td.none").get_attribute("title") == "not run yet"


# The texts whose contrast with what is behind them is below 4.5 (WCAG 2.1, AA); `muted` controls are exempt.
CONTRASTS = """() => {
  const parse = (c) => {
    const canvas = parse.canvas ||= Object.assign(document.createElement("canvas"), {width: 1, height: 1});
    const context = canvas.getContext("2d", {willReadFrequently: true});
    context.clearRect(0, 0, 1, 1); context.fillStyle = c; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, below) => below.map((v, n) => n < 3 ? top[n] * top[3] / 255 + v * (1 - top[3] / 255) : 255);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (e) => {
    const found = [];
    for (; e; e = e.parentElement) found.unshift(parse(getComputedStyle(e).backgroundColor));
    return found.reduce((below, top) => over(top, below), [255, 255, 255, 255]);
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.textContent.trim() || !e.checkVisibility() || e.closest("script, :disabled, .zero")) continue;
    const style = getComputedStyle(e);
    const below = behind(e);
    const ink = over(parse(e.closest("svg") ? style.fill : style.color), below);
    const [a, b] = [light(ink) + 0.05, light(below) + 0.05].sort((x, y) => y - x);
    if (a / b < 4.5) faint.push(`${node.textContent.trim().slice(0, 30)} ${a / b}`);
  }
  return faint.slice(0, 10);
}"""
# Pairs of texts in a plot that cover each other, and texts that leave it.
OVERLAPS = """() => {
  const found = [];
  for (const plot of document.querySelectorAll("svg.plot")) {
    if (!plot.checkVisibility()) continue;
    const frame = plot.getBoundingClientRect();
    const boxes = [...plot.querySelectorAll("text")].filter((t) => t.textContent)
      .map((t) => ({name: t.textContent, box: t.getBoundingClientRect()}));
    boxes.forEach(({name, box}, n) => {
      if (box.left < frame.left - 2 || box.right > frame.right + 2) found.push(`outside: ${name}`);
      for (const other of boxes.slice(n + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > 2 && down > 4) found.push(`overlap: ${name} / ${other.name}`);
      }
    });
  }
  return found;
}"""
