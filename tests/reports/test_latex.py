"""Tables for papers: escaped, labelled, balanced, and bold where something is best among several."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from taskloom.reports import How, render, summarise
from taskloom.reports.latex import _shown_by_numbers, escaped, latex


@pytest.fixture(scope="module")
def text(summary) -> str:
    return latex(summary)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.endswith(r"\\")]


def test_each_metric_has_a_table_with_a_label_of_its_own(text, summary):
    labels = re.findall(r"\\label\{(.*?)\}", text)
    assert len(set(labels)) == len(labels) == text.count(r"\begin{tabular}") == text.count(r"\end{tabular}")
    assert {f"tab:a-study-i-of-i-more-scores-{metric.replace('/', '-')}" for metric in summary.metrics} <= {*labels}


def test_everything_is_escaped_and_braces_are_balanced(text):
    for line in rows(text):
        assert not re.search(r"(?<!\\)[%$#_]", line)
        assert len(re.findall(r"(?<!\\)&", line)) == 2
    depth = 0
    for brace in re.findall(r"\\.|[{}]", text):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        assert depth >= 0
    assert depth == 0
    assert all(ord(c) >= 32 or c == "\n" for c in text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("a\n\n% b", r"a \% b"),
        ("$x_1^2$ & #~", r"\$x\_1\textasciicircum{}2\$ \& \#\textasciitilde{}"),
        ("^^5cinput", r"\textasciicircum{}\textasciicircum{}5cinput"),
        ("[4bit] *x", "{[}4bit{]} {*}x"),
        ("\x1b[31m\x00", r"\textbackslash{}u001b{[}31m\textbackslash{}u0000"),
        ("a---b `c", r"a-{}-{}-b \textasciigrave{}c"),
        ("a,,b ''c", r"a,{},b '{}'c"),
        ("\ud800", "{[}U+FFFD{]}"),
        ("道路 <é>", r"道路 \textless{}é\textgreater{}"),
    ],
)
def test_hostile_texts_are_shown_as_they_are(text, shown):
    assert escaped(text) == shown


def test_the_best_are_bold_and_baselines_below_a_line(text, summary):
    table = next(part for part in text.split("\n\n") if "-scores-accuracy}" in part)
    best = {s.learner for s in summary.of("accuracy")[-1].standings if s.best}
    for line in rows(table)[1:]:
        name, *_, last = line.split(" & ")
        assert (r"\textbf" in last) == (name in best)
    above, below = table.split(r"\midrule")[1:]
    assert "strong & " in above
    assert "majority & " in below
    assert "broken" not in table


def test_the_caption_has_n_and_seeds(text):
    caption = re.search(r"\\caption\{(.*)\}\n", text)
    assert caption
    assert re.search(r"n = \d+ answers for each learner, 3 seeds", caption[1])
    assert "95 \\% confidence intervals" in caption[1]


def test_a_single_learner_is_not_the_best_of_anything(make):
    text = latex(summarise(make({"alone": 0.9, "majority": 0.3}), How(count=50)))
    assert r"\textbf" not in "".join(line for line in rows(text) if line.startswith("alone"))


def test_of_many_settings_intervals_stand_below_scores(make):
    text = latex(summarise(make(shots=(0, 1, 2, 4), seeds=2), How(count=50)))
    assert re.search(r"\\shortstack\[r\]\{\\textbf\{\d+\.\d\}\\\\\{\\scriptsize \{\[\}\d+\.\d, \d+\.\d\{\]\}\}\}", text)


HOSTILE = (
    "\\input{/etc/passwd}", "\\end{document}", "\\write18{ls}", "^^5cinput", "$x_1^2$ & #~ % {a} }b{", "[4bit] *x",
    "\x1b[31m\x00", "a---b ,,c'' `d \"e", "道路 <é> ß Ł ą", "\u202e\ufeff", "\U0001f600 カナ", "≤ → “q” … « »",
    "العربية", "e\u0301", "ΑΒΓ Кириллица", "\ud800x", "\\", "~", "&",
)  # fmt: skip


def test_characters_that_pdftex_may_not_know_are_declared_once():
    lines = _shown_by_numbers("路 道路 a_b")
    assert [line for line in lines if line.startswith(r"\taskloomunknown")] == [
        r"\taskloomunknown{路}{{[}U+8DEF{]}}",
        r"\taskloomunknown{道}{{[}U+9053{]}}",
    ]
    assert _shown_by_numbers("plain") == []


@pytest.mark.parametrize("program", ["pdflatex", "lualatex"])
def test_a_report_with_hostile_names_compiles(make, program: str, tmp_path: Path):
    if not shutil.which(program) or subprocess.run(["kpsewhich", "booktabs.sty"], stdout=subprocess.DEVNULL).returncode:
        pytest.skip(f"{program} or its package booktabs is not here")
    names = [" ".join(HOSTILE[:8]), " ".join(HOSTILE[8:])]
    text = render(summarise(make({names[0]: 0.9, names[1]: 0.5}), How(count=50)), "tex")
    begin = "\\documentclass{article}\\usepackage{booktabs}\\usepackage[T1]{fontenc}\\begin{document}\n"
    (tmp_path / "x.tex").write_text(f"{begin}{text}\nthe end\\end{{document}}\n", encoding="utf-8")
    call = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "x.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "x.pdf").is_file()
    assert b"passwd" not in done.stdout
