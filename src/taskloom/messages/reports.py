"""Texts of messages: scores, and what reports say of them."""

from __future__ import annotations

SCORES = {
    "metric-unused": "metric {metric!r} can score no task of the study ({reason})",
    "no-task": "there are no tasks",
    "task-unscored": "no metric of the study can score {tasks:first 5}; add one, such as {metrics:or}",
    "view-metric-missing": "view {view!r}: no task of the study has metric {metric!r}; {hint}",
    "view-tag-missing": "view {view!r}: no task of the study has tag {tag!r}; {hint}",
    "depth-missing": "metric needs a depth, as in p@5: {metric!r}",
    "labels-missing": "metric needs a task with labels: {metric!r}",
    "depth-wrong": "depth must be an integer >= 1, of at most 18 digits: {metric!r}",
    "share-too-large": "a depth in percent must be <= 100: {metric!r}",
    "level-wrong": "level must be an integer >= 1, as in p@5:level=3, not {given!r}: {metric!r}",
    "option-unknown": "unknown options of metric {name!r}, {options}: {metric!r}",
    "variant-unknown": "unknown variant {variant!r}; known: {known}: {metric!r}",
    "metric-without-field": "metric needs a field, as in {part}/{metric}: {metric!r}",
    "metric-unfit": "metric does not apply to {kind}; use one of {fits}: {metric!r}",
    "metric-of-task": "metric needs a task, whose own metrics it is made of: {metric!r}",
    "mean-unfit": "the mean is of metrics in points alone; a task needs such metrics|; not so: {metrics}",
    "positive-unknown": "positive= of f1 must be one of {labels}: {positive!r}",
    "one-ranking-expected": "exactly one gold ranking is needed: {given}",
    "lengths-differ": "numbers differ: {gold:gold answer}, {answers:prediction}",
    "nothing-to-score": "nothing to score",
    "items-without-gold": "gold answer is missing for {count:,} of {of:item}; positions from 0: {items}",
    "score-nothing": "name a suite and a file of predictions, or --qrels and --run, or a suite and --embeddings",
    "score-together": "can't be given together: {given}",
    "score-alone": "{given} needs {needed}",
    "no-documents-ranked": "suite {suite!r} has no task that ranks documents of a store, so vectors can't be scored",
    "vectors-missing": "{count:document} without a vector: {ids:first 10}",
}
REPORTS = {  # warnings beside scores
    "pandas-missing": "data frames need pandas: pip install 'taskloom[pandas]', or use to_arrow()",
    "single-episodes": (
        "a single episode in {tasks:,} of {of:task}: intervals do not include the variation over seeds "
        "(other examples, other training)"
    ),
    "few-episodes": (
        "fewer than {least} episodes in {tasks:,} of {of:task}: the variance between seeds is estimated from few, "
        "which makes intervals wide; run more seeds"
    ),
    "incomplete": "{tasks:,} of {of:task}, {episodes:,} of {of_episodes:episode}",
    "published-labels": "published figures left out for {task}: its labels are not those of {name!r} in the paper",
    "published-transfer": (
        "published figures left out for {task}: its kind of transfer is {here} here, and {name!r} has {paper} transfer "
        "in the paper"
    ),
}
FINDINGS = {  # what a run found
    "best-only": "{metric}, {shots}: {learner} reaches {score}; there is no other learner to compare it with",
    "best-alone": "{metric}, {shots}: {learner} is the best with {score}, significantly better than {others:all}",
    "best-shared": (
        "{metric}, {shots}: {learner} has the best score of all learners, {score}, not significantly different from "
        "{others:all}"
    ),
    "examples-help": "{learner} gets better with examples, from {fewest} to {most}: {metric} changes by {difference}",
    "examples-hurt": "{learner} gets worse with examples, from {fewest} to {most}: {metric} changes by {difference}",
    "no-better-than-baseline": (
        "{metric}: no learner is significantly better than the best baseline on {tasks:first 5} ({count} of {of:task})"
    ),
}
