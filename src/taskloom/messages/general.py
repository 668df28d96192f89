"""Texts of messages: general ones, and answers that can't be used."""

from __future__ import annotations

GENERAL = {
    "pools-unfit": "pools must be train and test, with or without dev, or a single pool: {pools}",
    "of-task": "task {task!r}: {reason}",
    "error": "{text}",  # without a code of its own
    "data-changed": "data was changed after the build; build the suite again ({pools:first 5}): {path}",
    "text-unreadable": "texts can't be read: the file is damaged; see `taskloom check` ({reason})",
    "gold-unreadable": "gold answers can't be read: the file is damaged; see `taskloom check` ({reason})",
    "folder-missing": "no such folder: {path}",
    "suite-is-a-file": "a file, not a suite's folder; `taskloom build` makes a suite of a table: {path}",
    "not-a-suite": "not a suite (it has no {file}); `taskloom build` makes one: {path}",
    "not-a-run": "not a run (it has no {file}): {path}",
    "ledger-damaged": "the ledger is damaged ({what} can't be read: {reason}); run the study again (-o): {path}",
    "report-unwritten": "no report written ({reason}); write it elsewhere with `taskloom report --to html -o`: {path}",
    "merge-into-nothing": "no such run; copy one of the others (cp -r), and merge into the copy: {path}",
    "ledger-folder-missing": "the ledger names a folder that is not there, {name} = {folder}: {path}",
    "not-a-ledger": "not a ledger of taskloom: {path}",
    "json-lines-expected": "must be JSON Lines, one object on each line (jq -c {filter!r} FILE converts it): {path}",
    "faults-more": "and {count:,} more",
    "name-unknown": "unknown {what}: {name!r}; {hint}",
    "names-near": "did you mean {names:or}?",
    "names-known": "known: {names:first 12}",
}
ANSWERS = {  # that can't be used, of a learner or as gold
    "unparsable": "unparsable",
    "empty-output": "empty output",
    "text-expected": "not a text|: {given}",
    "label-unknown": "label not declared|: {given}",
    "labels-expected": "not a tuple of labels|: {given}",
    "terms-expected": "not a tuple of terms|: {given}",
    "words-expected": "not a tuple of the acceptable words of each place|: {given}",
    "not-finite": "not a finite number|: {given}",
    "grade-not-finite": "not a finite grade|: {given}",
    "pairs-expected": "not (candidate, grade) pairs|: {given}",
    "candidate-twice": "duplicate candidate|: {given}",
    "candidate-unknown": "not a candidate of the item|: {given}",
    "fields-expected": "an answer for each field is needed|, {fields}: {given}",
    "clusters-differ": "a cluster for each element is needed|: {elements} elements, {clusters} clusters",
    "not-log-probabilities": "grades must be log probabilities, at most 0|: {grade}",
    "row-fields-differ": "fields differ from those of the first row, {first}: {fields}",
    "gold-missing": "gold answer is missing",
    "half-character": "invalid Unicode (a lone surrogate)",
}
