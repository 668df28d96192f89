"""What the command line prints: hostile names and texts are shown, and never steer a terminal."""

from __future__ import annotations

import pytest

from taskloom import console

HOSTILE = [
    ("x[/y]", "x[/y]"), ("lm[4bit]", "lm[4bit]"), ("\x1b[31mred", "\\u001b[31mred"), ("[bold]b[/]", "[bold]b[/]"),
    (":smile:", ":smile:"), ("a\\", "a\\"), ("\u202egnp", "\\u202egnp"), ("{step}", "{step}"),
]  # fmt: skip


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_headers_titles_and_cells_are_shown_as_they_are(capsys, monkeypatch, text, shown):
    on_terminal(monkeypatch)
    console.table([text, "n"], [[text, 1]], title=text)
    console.pairs({text: text})
    printed = capsys.readouterr().out
    assert printed.count(shown) == 5
    assert "\x1b]" not in printed
    assert "\u202e" not in printed


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_messages_and_lines_are_shown_as_they_are(capsys, monkeypatch, text, shown):
    on_terminal(monkeypatch)
    console.note(text)
    console.error(text)
    console.line(text)
    console.write(text)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [shown, f"error: {shown}"]
    assert printed.out == f"{shown}\n{shown}"


def test_messages_have_no_keys(capsys, monkeypatch):
    monkeypatch.setenv("all_proxy", "http://me:hunter2-hunter2@h")
    console.note("no way to http://me:hunter2-hunter2@h")
    console.error("no way to http://me:hunter2-hunter2@h")
    assert capsys.readouterr().err == "no way to http:(key)h\nerror: no way to http:(key)h\n"


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_progress_shows_any_name(capsys, monkeypatch, text, shown):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    with console.progress(text) as count, console.training(text) as step:
        count(1, 2)
        step(3, 0.5, 0.25)
    assert shown in capsys.readouterr().err


def test_what_is_piped_is_left_as_it_is(capsys):
    console.table(["[a]"], [["\x1b[2J"]])
    assert capsys.readouterr().out == "[a]\n\x1b[2J\n"
