"""Messages: each is a code with values; their texts are here and nowhere else.

Codes are stored, compared and decided by. Rewording a message changes no id and no stored byte.

A text names its values in braces: {task!r}, {names} for a list, {count:row} for "3 rows", and others of `FORMS`.
What follows a bar is written only where the values are known: notes of one code are counted together, without them.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    "not-a-ledger": "not a ledger of taskloom: {path}",
    "json-lines-expected": "must be JSON Lines, one object on each line (jq -c {filter!r} FILE converts it): {path}",
    "name-unknown": "unknown {what}: {name!r}; {hint}",
    "names-near": "did you mean {names:or}?",
    "names-known": "known: {names:first 12}",
}
PLANNING = {  # how a budget is spent
    "time-expected": "a time must be numbers with the units d, h, m and s, such as 90m, 2h or 1h30m: {given!r}",
    "cost-invalid": "seconds of an episode ({name}) must be a finite number >= 0: {given}",
    "share-expected": "{name} must be a number from 0 to 1: {given}",
    "design-too-small": "a simulation needs at least 2 episodes with an item each: {design}",
    "cost-unknown": (
        "the cost is unknown of: {names}; measure it now with --pilot, or run the study (a trial cuts training short, "
        "and counts only where nothing is trained)"
    ),
    "grid-too-large": "the study has {cells:,} cells, more than {most:,}; take fewer seeds, episodes or learners",
    "budget-missing": "{option} needs a budget, such as --budget 2h",
    "budget-of-trial": "a trial has no budget: leave out --limit or --budget: {limit}",
    "plot-file-unknown": "a plot can be written to a file that ends in {forms:or}: {path}",
    "pilot-failed": "{count:cell} of the pilot failed ({reason}); see: taskloom report {folder}",
    "loading-unknown": "the time to load models is not known, and not taken off; --pilot measures it",
    "accuracy-assumed": (
        "assumed: an accuracy of 50 %, where intervals are widest, in {count:,} of {of:,} cases (learner, task and "
        "shots), which have fewer than {least:answer}"
    ),
    "deviation-assumed": (
        "assumed: a standard deviation of {points} points between the accuracies of episodes, in {count:,} of {of:,} "
        "cases, which have fewer than {least:episode}"
    ),
    "difference-assumed": (
        "assumed: a correlation of {correlation} between the accuracies of two models over the same episodes, where "
        "no two were run on {least:episode}"
    ),
    "coverage-low": (
        "too few episodes: 95 % intervals of {episodes:episode} hold the true value in {share:.0%} of studies only; a "
        "larger budget is needed for {least:.0%}"
    ),
    "items-scarce": "no more than {most:test item} can be drawn for an episode; more time only buys more episodes",
    "items-repeated": (
        "each test item is asked about {times} times or so: episodes are not independent, and the intervals of the "
        "report, which know of that, will be wider"
    ),
    "budget-short": "the budget of {budget} is too small: {episodes:episode} with one test item each take {needed}",
    "budget-too-small": (
        "the budget of {budget} is too small: {episodes:episode} with one test item each take {needed}, of which "
        "{fixed} is for what is done once (training and loading models)"
    ),
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
ROWS = {  # of a table, that are dropped or repaired
    "row-faulty": "rows with errors",
    "row-surrogates": "rows with invalid Unicode (a lone surrogate), replaced by U+FFFD",
    "row-filtered": "rows that do not match {where}",
    "row-unmapped": "rows with an unknown {column}",
    "row-of-split": "rows of split {value!r}",
    "row-split-unknown": "rows whose split is unknown",
    "row-unlabelled": "rows without a label",
    "row-of-label": "rows of labels that are no classes of the data set",
    "row-empty": "rows without a text or a mention",
    "row-duplicate": "duplicate rows",
    "row-beyond": "rows beyond the first {most:,} of a label",
    "row-leaking": "{phase} rows with a text that is held out",
}
LABELLED = {  # data sets
    "field-column-missing": "no column for {field} ({wanted:or}); name it in `columns`; found: {columns} ({place})",
    "row-malformed": "not a row of form {form} ({reason}): {place}",
    "labels-unknown": (
        "data set {name!r} has labels that are not declared: {labels:sizes 20}; {hint}; name them in `labels`, `names` "
        "or `drop`"
    ),
    "labels-in-two-phases": (
        "data set {name!r} has labels in several phases, and rows that do not say their split: {labels:sizes 12}; name "
        "each label in one phase, or, where train and dev share it, add a column `split` and say `splits`"
    ),
    "labels-without-examples": (
        "data set {name!r} has no examples of {labels:first 12}; found: {here:first 12}; declare a split of its own in "
        "`labels`"
    ),
    "labels-too-few": "data set {name!r} has {found:label}, and {wanted} are to be dealt out",
    "labels-unfit": "data sets that differ from their declarations, {count:fault}:",
    "data-sets-empty": "no examples were read: {names}",
    "labels-single": "data set {name!r} needs two labels or more in {phases}",
    "labels-mixed": "labels of data set {name!r} must be all named, or all numbers",
    "data-sets-not-found": "no data set was found in {folders} (looked for: {names:first 24})",
    "data-set-not-found": "not found: {names}",
    "data-set-unused": "found without rows of the splits that are used: {names}",
    "data-set-not-fetched": "not fetched: {name} ({reason})",
    "declaration-unfit": "the declaration of a data set has errors: {place}",
    "configuration-unfit": "not a line of a configuration of SciRepEval ({reason}): {place}",
    "hub-unknown": "data set {name!r} has no name on the hub; set `hub` in a declaration of your own",
    "leak-data-set": (
        "{task} and {other} have the same classes of data set {name!r}: name other classes in `labels`, or do not "
        "train on it"
    ),
    "leak-label": "{task} and {other} share classes of data set {name!r}: {labels:first 12}",
    "leak-text": "{task} and {other} share {count:text}",
    "leaks-found": "fold {fold!r} trains on what it tests, {count:leak}:",
}
DOCUMENTS = {  # tasks over documents
    "document-again": "documents that come again with another text, of which the first is kept",
    "label-again": "documents that come again with another label, of which the last is kept",
    "document-missing": "documents that are named and missing",
    "row-document-missing": "rows whose document is missing, or all of whose candidates are",
    "row-of-rare-label": "rows of labels that fewer than {least:,} documents have",
    "documents-missing": (
        "task {name!r} names {count:document} that it does not have: {ids:first 5}; missing=drop drops what names them"
    ),
    "documents-unasked": "task {name!r} has no examples: nothing of its files says what a task of kind {kind} asks",
    "document-labels-unknown": "task {name!r} has labels that are not declared: {labels:first 12}",
    "signatures-unclustered": "task {name!r} has signatures without a cluster, in blocks: {blocks:first 5}",
    "labels-in-test-only": "{name}: labels that only test has: {labels:first 12}",
    "queries-without-relevant": "{name}: queries without a relevant candidate, {count:,} in all: {ids:first 5}",
    "queries-below-level": (
        "{name}: queries without a candidate of grade {level:g} or more, left out of scores at that level, "
        "{count:,} in all: {ids:first 5}"
    ),
    "documents-without-text": "{name}: {count:document} without a text: {ids:first 5}",
    "documents-renamed": (
        "{name}: {count:document} renamed, for another task has the same ids for other texts: {ids:first 5}"
    ),
    "document-tasks-unfit": "tasks over documents that can't be made, {count:fault}:",
    "document-link-unfit": (
        "task {name!r} of kind {kind} can't have {links}: a search has found_by, a proximity task same or cites"
    ),
    "document-tasks-expected": (
        "`tasks` must be a mapping of names to mappings, such as `topic: {{kind: search}}`: {place}"
    ),
    "document-tasks-not-found": "no task was found in {folders} (looked for: {names:first 24})",
}
TABLES = {  # that can't be read as they are
    "of-source": "{reason}{dropped} (file: {source})",
    "no-rows": "no records were read: there are no rows, or only a header; add rows",
    "no-records-left": "no records were read: all rows were dropped or have faults",
    "split-unknown": (
        "split column {column!r} has values other than {known}; name their pools with --pool VALUE=train (or dev, "
        "test, drop): {values:sizes}{more:and more}"
    ),
    "split-incomplete": (
        "a split needs train and test rows, and has none of {missing}; name the pool of a value with --pool "
        "VALUE=test, or build without a split; found: {found:sizes}"
    ),
    "split-twice": "--train, --dev and --test name all files; give no other source and no --split: {given!r}",
    "pools-without-split": "--pool says what the values of a split column stand for; name the column with --split",
}
GUESSES = {  # why a column is taken for what it is
    "guess-empty": "filled in {filled:,} of {of:row}",
    "guess-nested": "holds values that no field can have ({kinds})",
    "guess-mixed": "holds lists in some rows and single values in others",
    "guess-constant": "the same in every row ({value})",
    "guess-addresses": "web addresses",
    "guess-dates": "dates",
    "guess-row-numbers": "numbers of rows, without a name",
    "guess-second": "another column is the {kind}",
    "guess-beyond": "a {kind}, not used: {most} fields make many tasks already; add it with --field",
    "guess-split": "all values are names of splits: {values}",
    "guess-id-name": "{count:value}, all different, and the name of an id",
    "guess-id-values": "{count:value}, all different, each one word with digits",
    "guess-list": "lists, of {terms:.1f} terms on average",
    "guess-list-json": "lists in JSON",
    "guess-list-separator": "{separator!r} between short terms in {several:,} of {of:,} cells",
    "guess-number": "numbers, {least} to {most}",
    "guess-label": "{labels:distinct value}; the most frequent is {most!r} ({count:,})",
    "guess-label-numbers": "{labels:distinct integer}",
    "guess-text": "texts, {words:.1f} words on average",
    "guess-too-few": "fewer than two columns can be fields; name them with `taskloom build fields`: {files}",
    "guess-files": (
        "the names of the files don't say which has train and which test rows; name them with `taskloom build fields "
        "--train FILE --test FILE`, or build from one file: {files}"
    ),
}
FUNCTIONS = {  # of words, that can't be read or built
    "function-at": "{reason} (at character {place} of {text!r})",
    "function-unreadable": "expected {expected:or}, found {found!r} at character {place} of {text!r}",
    "function-nested": "brackets must not be nested more than {most} times (at character {place})",
    "function-too-deep": "a function must not be deeper than {most}: {depth}",
    "permuted-inside": "permuted must be the outermost function, or stand directly in map{{}}",
    "relation-expected": "a relation is expected, and this is a predicate: {given}",
    "predicate-expected": "a predicate is expected, and this is a relation: {given}",
    "word-function-expected": "a function of words is expected, and this is one of sequences: {given}",
    "sequence-expected": "{name} takes S, map or filter, not {given}",
    "domains-differ": "{outer} takes {wanted}, and {inner} gives {found}",
    "parts-differ": "the parts of {by} must take and give the same: {first} and {other} differ",
    "parts-missing": "{by} needs at least two functions",
    "inputs-too-many": "{name} can't take {count:input} here",
    "braces-expected": "{name} needs {wanted}, in braces",
    "language-expected": "{name} needs {wanted}",
    "split-missing": "tasks without train and test files| ({task})",
    "function-unavailable": "source not at hand|: {reason}",
    "facts-missing": "no source has {function}",
    "passing-unfit": "of the words of a sequence some must pass and some fail: {passing} of {length}",
    "mark-unfit": "a mark between words must have no spaces: {mark!r}",
    "function-few": "too few samples|: {count:,}, fewer than {least:,}",
    "function-few-words": "too few words for sequences| of {pool}: {passing} pass and have an output, {failing} fail",
    "function-without-pool": "no words to ask or to train on| in {pool}",
    "function-too-large": "too many outputs|: {count:,}, more than {most:,}",
    "function-constant": "one answer to all but a few",
    "function-same-word": "the answer is the word itself",
    "function-duplicate": "the same outputs as another|: {other}",
}
COUNTS = {  # of events that learners count
    "prompt-refused": "prompts refused by the model",
    "prompt-cut": "prompts cut to fit the context",
    "text-cut": "texts cut to fit the encoder",
    "text-without-words": "items without a word",
    "nothing-to-contrast": "no training: the support has no pair of texts to contrast",
    "input-cut": "inputs cut to fit the context",
    "instruction-cut": "instructions cut to fit the context",
    "answer-cut": "answers cut at the maximum number of tokens",
    "answer-picked": "answers extracted from a longer output",
    "reply-empty": "empty replies",
    "demonstration-is-item": "demonstrations dropped: same as the item to answer",
    "lesson-cut": "lessons cut to fit the context",
    "lesson-answer-cut": "lessons whose answer was cut to fit the context",
    "checkpoint-unwritten": "checkpoints that could not be written",
    "look-not-reached": "looks at steps that training did not reach",
    "lesson-without-answer": "support examples without an answer to train on",
    "no-early-stopping": "no early stopping: the episode has no dev set",
    "demonstration-dropped": "demonstrations dropped to fit the context",
    "example-missing": "examples of the encoding that the task lacks",
    "no-common-word": "items without a word in common with the support",
    "not-converged": "fits that did not converge",
    "one-answer": "nothing to tell apart: the support has a single answer, which is given to all",
    "majority-tied": "ties between the most frequent answers; one is chosen by a hash of the task's name",
    "surrogates-replaced": "answers or replies with invalid Unicode (a lone surrogate), replaced by U+FFFD",
    "labels-not-shown": "prompts without the list of labels: the task has more than max_labels",
}
STUDIES = {  # why a study can't be run, and why cells are skipped, or fail
    "study-faults": "the study has {count:error}:",
    "model-unavailable": "model {model} is unavailable ({reason}); skipped learners: {learners}",
    "model-unable": "needs a model that can {lacking}, and {model!r} can't",
    "vectors-unable": (
        "needs a model that gives vectors, and {model!r} gives none; name an encoder, such as minilm, or weights on "
        "this machine"
    ),
    "chat-score-unable": (
        "chat endpoints don't say how likely an answer is; set `answers: generate`, or `chat: false` where the "
        "endpoint takes completions: {model!r}"
    ),
    "output-unsupported": "learner {learner} does not support {kind}",
    "examples-needed": "learner {learner} does not support {kind} with 0 shots",
    "no-fold": "model {model} is not trained for task {task}: it is a test task of none of the folds",
    "nothing-to-train-on": "model {model} is not trained for task {task}: fold {fold} has no tasks to train on",
    "all-are-scored": (
        "model {model} is not trained: the {tasks:task} of fold {fold} to train on have no instances beyond those that "
        "are scored"
    ),
    "taught-certified": (
        "model {model}: trained on {tasks:task}, of each on some of the first {compared} examples, which were compared "
        "with what is asked about: no leak was found"
    ),
    "taught-beyond": (
        "model {model}: trained on {tasks:task}, also beyond the first {compared} examples, which alone were compared "
        "with what is asked about"
    ),
    "taught-asked": (
        "model {model}: an upper bound, for it was trained on other examples of {tasks:,} of {asked:task} asked about"
    ),
    "sample-too-large": "model {model} is not trained: it is to draw {sample} of {tasks:task} to train on",
    "track-without-training": (
        "nothing to train on: no fold that is asked about has {roles:or} tasks ({leaks:,} were excluded for leaks); "
        "build the suite again with some (task files are listed in splits/TRACK/train_tasks.txt), ask about another "
        'fold (`tasks: ["@FOLD/test"]`), or name tasks in `tasks` of the model; asked about: {folds}'
    ),
    "dev-too-large": (
        "model {model!r} can't be trained for task {task!r}: dev holds out {dev} of {count:example}; half at most"
    ),
    "no-episode": (
        "model {model} is not trained for task {task}: an episode takes 2 classes with {shots:example} each, which are "
        "not taught; raise `most`, or name other `tasks`: {tasks}"
    ),
    "no-record-left": "model {model} is not trained for task {task}: all records are in its episodes",
    "training-failed": "training of model {model} failed|: cell {cell}",
    "learner-changed": "the file of the learner was changed during the run; run again: {learner!r}",
    "answers-missing": "learner {learner} gave {answers:answer} for {items:item}",
    "artifact-missing": "a trained model is missing or incomplete; run again: {folder}",
    "artifact-changed": "a trained model was changed; remove its folder and run again ({file}): {folder}",
    "predictor-missing": "fit must give an object with predict(items), and gave {given}: {learner}",
    "answers-not-listed": "predict must give a list with an answer for each item, and gave {given}: {learner}",
    "answer-unwritable": (
        "an answer must be a text, a number, a list of these, a mapping or None; item {item!r} got {given}: {learner}"
    ),
    "learner-raised": "{error}",
    "draw-differs": "the suite or the sampler was changed after planning; run again",
    "artifact-differs": (
        "training model {model} again gave a different result: copy artifacts/{cell} from the machine that trained it "
        "first, or run into another folder (-o)"
    ),
    "result-damaged": "the result of cell {cell} is damaged in the ledger; run the study again",
}
CLUSTER = {  # runs on several machines
    "memory-expected": "memory must be a number of bytes, or one with a unit such as 2GB or 512MB: {given}",
    "gpu-expected": "gpu must be a whole number, or less than 1: {given}",
    "resources-expected": "resources must be a mapping such as {{gpu: 1, cpu: 2, memory: 8GB}}: {given}",
    "cluster-address-expected": "a cluster must be ray, or ray://HOST:PORT as `ray start --head` prints it: {given}",
    "ray-missing": "a run on a cluster needs Ray: pip install 'taskloom[ray]'",
    "cluster-missing": (
        "no Ray cluster answers ({reason}); start one with `ray start --head`, and run this on one of its machines: "
        "{address}"
    ),
    "cluster-token": (
        "the Ray cluster asks for its token; set RAY_AUTH_MODE=token here, and have the token as Ray says: {address}"
    ),
    "cluster-unfit": "the cluster can't run the study, {count:fault}:",
    "resource-missing": "no node has {wanted}, which {names} needs; nodes: {nodes}",
    "versions-differ": "another version than on the driver ({versions}); install the same ones: {node}",
    "node-unable": "taskloom can't be loaded on the node ({reason}); install it there: {node}",
    "nodes-lost": "no node is left that can run the cells; finished cells are kept; run again later: {nodes}",
    "actor-lost": "the worker on the cluster was lost|: {reason}",
    "actors-not-started": "{count:actor} in a row could not be started on the cluster: {reason}",
    "no-vectors": "not a cache of taskloom with vectors: {path}",
    "vectors-unnamed": "it is not known which vectors these are: {path}",
    "parcel-damaged": "a file came damaged from another machine: {file}",
}
SCORES = {
    "metric-unused": "metric {metric!r} can score no task of the study ({reason})",
    "no-task": "there are no tasks",
    "task-unscored": "no metric of the study can score {tasks:first 5}; add one, such as {metrics:or}",
    "view-metric-missing": "view {view!r}: no task of the study has metric {metric!r}; {hint}",
    "view-tag-missing": "view {view!r}: no task of the study has tag {tag!r}; {hint}",
    "depth-missing": "metric needs a depth, as in p@5: {metric!r}",
    "labels-missing": "metric needs a task with labels: {metric!r}",
    "depth-too-small": "depth must be >= 1: {metric!r}",
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
TRANSFER = {  # maps of what transfers to what
    "transfer-unsupported": "left out, as models can't be tuned on their outputs: {tasks:first 5}",
    "transfer-untaught": "left out of the meta tasks, as they have no examples to train on: {tasks:first 5}",
    "transfer-undrawable": "left out of the targets, as they have too few examples: {tasks:first 5}",
    "transfer-nothing": "no task can be a {what}; name others, or build the suite of more examples",
    "transfer-measure-nothing": "--measure needs meta tasks to choose; --choose must be >= 1",
    "transfer-same": "a target is never its own meta task, and there is no other one: {task!r}",
    "transfer-by-targets": (
        "name the targets with --targets: the suite has no folds, and with --by {tag} all tasks that are no targets "
        "are meta tasks"
    ),
    "transfer-budget": (
        "a budget of {budget:,} steps is too small for {meta:meta task}, {targets:target} and one seed, which take "
        "{needed:step}: {parts}; give --budget {needed} or more, or fewer steps"
    ),
    "transfer-size": (
        "{meta:meta task} x {targets:target} ({pairs:pair}), {seeds:seed}: {steps:step} of training, of {budget:,} "
        "in the budget"
    ),
    "transfer-dropped": (
        "dropped to fit the budget: {dropped_meta:meta task}, {dropped_targets:target}, {dropped_seeds:seed}; all "
        "would take {needed:step}"
    ),
    "transfer-unchosen": (
        "nothing is chosen: two targets are needed, each with more than {count:meta task} measured on it"
    ),
}
PROMPTS = {  # notes beside a prompt that is shown
    "prompt-of": "item {item!r}, learner {learner!r}, shots {shots}, seed {seed}, hash {hash}",
    "prompt-tokens": "{tokens:token}",
    "prompt-unmeasured": "not fitted to the context of the model: {reason}",
    "prompt-count": "{what}: {count:,}",
    "item-not-drawn": "seed {seed} does not draw this item; shown with the demonstrations of that seed: {item!r}",
    "prompt-as-sent": "the run has sent exactly this prompt (hash {kept})",
    "prompt-differs": (
        "the run has sent another prompt (hash {kept}): taskloom, a learner's file or the model's tokenizer has changed"
    ),
}
ASKING = {  # of what is asked by hand
    "ask-one-place": "name one of --suite and --run: a run has its own suite",
    "ask-fields": "a line must have the fields {fields}; it has: {given}",
    "ask-no-text": "a field must be a text that is not empty: {fields}",
    "ask-empty": "the text is empty; it must have {fields}",
    "ask-several": "the task has the fields {fields}; write them as JSON Lines, an object on each line",
    "ask-no-examples": "the suite has no examples of this task; ask without --shots: {task!r}",
    "ask-unparsable": "{count:answer} can't be parsed as {kind}; what the model wrote is shown",
    "model-not-trained": "the run has not trained the model with seed {seed} yet; see --seed: {model!r}",
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
LEARNERS = {
    "whole-number-expected": "{name} must be an integer >= {least}: {given}",
    "number-expected": "{name} must be a number from {least:g} to {most:g}: {given}",
    "texts-expected": "{name} must be a text, or a list of texts: {given}",
    "true-or-false-expected": "{name} must be true or false: {given}",
    "options-of-texts": "options of pre-training need `goal: texts`: {names}",
    "options-of-answers": "pre-training (`goal: texts`) trains all weights on texts, and has no such options: {names}",
    "options-of-vectors": "options of encoders that are trained need `goal: vectors`: {names}",
    "options-not-of-vectors": "an encoder that is trained (`goal: vectors`) has `tell`, and no such options: {names}",
    "groups-untold": "random groups of tasks (`by: random`) need a `tell` that is not none",
    "warmup-steps-unfit": (
        "warmup must be a share of the budget, or with a budget of steps or epochs a number of steps: {given:g}"
    ),
    "batch-below-tasks": (
        "a batch has equally many examples of each task; set `batch` to {tasks} or more, or train on fewer tasks: "
        "{batch}"
    ),
    "vectors-unlearnable": (
        "vectors are learnt from labels, numbers and rankings, not from {kind}; leave the task out of `tasks`: {task!r}"
    ),
    "no-vector-lesson": "no example of the task can be learnt from, all are held out or have no order: {task!r}",
    "members-untaught": "candidates that stand for several documents can't be trained on; task {task!r}: {ids}",
    "query-without-order": "queries whose candidates are all graded alike, which give no triplet",
    "encoder-untrainable": "`goal: vectors` needs an encoder that can be trained as base: {base!r}",
    "fusion-needs-adapters": "`tell: fusion` needs a base with `tell: adapters`; name one in `train`: {base!r}",
    "base-told": "the base has `tell: {tell}` already; train from its own base, or a fusion of adapters: {base!r}",
    "form-untrained": (
        "model {model} has no task to train on for the format {forms}; add one to its `tasks`, or set `form` to one "
        "of: {known}"
    ),
    "study-without-citations": "`study` draws negatives of citations and needs `cites`; task: {name!r}",
    "options-of-episodes": "options of lessons that are drawn as episodes need `episodes`: {names}",
    "range-expected": "{name} must be an integer >= {least}, or two, the least and the most: {given}",
    "encoding-and-template": "lessons have an encoding or a template, not both: {encoding!r}, {template!r}",
    "goal-needs-new": "`goal: texts` needs an architecture without weights, such as new:t5-nano, as base: {base!r}",
    "new-needs-texts": "an architecture without weights is pre-trained first: set `goal: texts`: {base!r}",
    "weights-not-drawn": "an architecture without weights can't be asked; train it in `models`: {model!r}",
    "nothing-trained": "a model that is trained trains all, lora, prompt or adapters, not none; name its base instead",
    "dev-and-patience": "early stopping needs examples and patience: dev {dev}, patience {patience}",
    "budgets-several": "the budget of training is one of steps, epochs and tokens: {names}",
    "prior-missing": "no pool to take a prior of; a Toolbox gets one by `priors`",
    "words-missing": "no pool to count words of; a Toolbox gets them by `words`",
    "support-missing": "learner needs support examples, and there are none: task {task!r}",
    "template-expected": "template must be a name, a text with slots, a list of these, or a mapping by task: {given}",
    "template-unknown": "a template is a text with slots such as {{text}}, or one of taskloom's; {hint}: {name!r}",
    "answer-not-last": "{{answer}} must be the end of a template: {template!r}",
    "brace-unpaired": "a slot is a name in braces; write {{{{ and }}}} for braces themselves: {template!r}",
    "input-slot-missing": "the template shows nothing of the input; add {{text}} or the name of a field: {template!r}",
    "input-not-shown": "the template does not show these inputs; add {{text}}, or their names in braces: {fields}",
    "instruction-slot-unknown": "unknown slot {{{slot}}} in the instruction; {hint}",
    "slot-unknown": "unknown slot {{{slot}}} in the template; {hint}",
    "probe-shape": "a probe needs vectors, one in each row, and has an array of shape {shape}",
    "probe-not-finite": "NaN or infinite values in row {rows:first 5}",
    "probe-lengths": "numbers differ: {vectors:vector}, {targets:target}",
    "widths-differ": "vectors of models with the dimensions {widths} have no mean; set `combine: concat`",
    "document-ids-needed": "vectors of {model!r} are found by document, and the learner asks for those of other texts",
    "probe-one-class": "a probe needs two classes, and all of {count:vector} are of one",
}
EPISODES = {
    "prior-empty": (
        "task {task!r}: no prior, for the query set ({query:item}) has all examples of the pool that support is drawn "
        "from; make the query set smaller, or give the task a train pool"
    ),
    "sizes-not-whole": "sizes must be integers: {sampler}",
    "sizes-negative": "sizes must be >= 0: {sampler}",
    "shots-out-of-order": "least must be <= most: {least}, {most}",
    "ways-out-of-order": "least of ways must be <= most: {least}, {most}",
    "share-in-all": "share needs per_class: true, for it is a share of each class: {share:g}",
    "per-label-with": "per_label can't be set together with {other}",
    "share-and-total": "share is of each class, and total of all; set one of them: {share:g}",
    "too-few-folds": (
        "too few folds for so many draws of task {task!r}: {folds:fold} of {shots:example}, and draw {index} is wanted"
    ),
    "among-and-base": "among and base can't both be set: shots are chosen from a list, or are powers of {base}",
    "no-powers": "base must have a power from least to most: {base}, {least}, {most}",
    "too-few-classes": (
        "task {task!r}: an episode needs two classes with {least:example} each ({support} for support, {query} for "
        "query), and {enough} have so many; too few have enough for the {cause} set: {remedy}; examples of each class: "
        "{classes:sizes 20}"
    ),
    "use-fewer-shots": "use fewer shots, or add examples",
    "add-test-pool": "use fewer shots, add examples, or give the task a test pool",
    "classes-dropped": (
        "task {task!r} at {shots:settings}: {count:,} of {of:,} classes dropped, each with fewer than {least:example}; "
        "{remain:,} remain; dropped, with their examples: {classes:sizes 20}"
    ),
    "labels-few": (
        "task {task!r} at {shots:settings}: {count:,} of {of:,} labels have fewer than {least:example}, and "
        "thus fewer shots; their examples: {classes:sizes 20}"
    ),
    "too-few-ways": "too few classes with at least {least} examples: {able} of the {ways} needed",
    "class-too-small": "classes with fewer than {least} examples: {classes:sizes 20}",
    "too-few-examples": (
        "too few examples for the {role} set of task {task!r}; make the sets smaller: "
        "{wanted} needed, {found} of {size} left"
    ),
}
MODELS = {
    "budget-spent": (
        "the budget of ${budget:money} is spent: ${spent:money} so far, and the next request may cost ${most:money}; "
        "raise `budget` to continue"
    ),
    "token-budget-spent": (
        "the budget of {budget:,} tokens is spent: {spent:,} so far, and the next request may take {most:,}; "
        "raise `token_budget` to continue"
    ),
    "replies-not-kept": "replies can't be stored ({reason}): {path}",
    "no-log-probabilities": "the endpoint gives no log-probabilities of its input; set `answers: generate`",
    "no-log-probabilities-in-chat": "chat endpoints give no log-probabilities of an answer; set `answers: generate`",
    "no-reply": "no reply from {url} after {tries} tries; last error: {reason}",
    "unreachable": "unreachable ({reason})",
    "connection-broken": "{kind} ({reason})",
    "http-error": "HTTP {status} {said}",
    "not-a-completion": "not a completion: {said}",
    "reply-too-large": "reply is larger than {most:,} bytes",
    "key-missing": "{url} needs an API key; set ${key} (HTTP {status}): {said}",
    "key-refused": "{url} rejected the API key in ${key} (HTTP {status}): {said}",
    "key-malformed": "the API key in ${key} has invalid characters",
    "request-refused": "{url} rejected the request (HTTP {status}): {said}",
    "model-refused": "{url} rejected model {model!r} (HTTP {status}): {said}",
    "key-not-set": "${key} is not set: export {key}=..., or set `key: ''` where the endpoint needs no key ({url})",
    "hub-out-of-reach": (
        "can't get {model!r} from the hub or its cache ({kind}: {reason}); fetch it where there is a network (taskloom "
        "models get), or name a folder: path:FOLDER"
    ),
}
ENDPOINTS = {  # as they are declared
    "endpoint-numbers-expected": "sizes, prices and budgets must be numbers >= 0: {model!r}",
    "endpoint-whole-numbers-expected": "concurrency, tries and token_budget must be integers: {model!r}",
    "endpoint-numbers-too-small": "concurrency, tries and timeout must be >= 1: {model!r}",
    "price-missing": "a budget in dollars needs price_in and price_out: {model!r}",
    "budget-without-limit": ("a budget needs a limit of output tokens, as max_completion_tokens in `body`: {model!r}"),
    "body-not-json": "`body` must be a mapping that can be written as JSON: {model!r}",
    "body-sets-ours": "`body` can't set {names}: {model!r}",
    "key-not-a-variable": "`key` must name an environment variable, not hold the key itself",
    "address-with-key": "the address of an endpoint must not hold a key; keys are read from the environment (`key`)",
    "model-options-unfit": "options that do not go together ({reason})",
    "address-missing": (
        "a model at an endpoint must be api:MODEL@https://HOST/v1, or api:MODEL if OPENAI_BASE_URL is set: {model!r}"
    ),
}
WEIGHTS = {
    "adapters-unsupported": "adapters have no known place in models of family {family!r}; set `what: lora`",
    "weights-unwritten": "trained weights can't be written ({reason}): {path}",
    "epochs-unknown": "there are no epochs of an endless source; give the budget in steps or tokens",
    "loss-not-finite": "training stopped: the loss is {loss} at step {step}; try a lower learning rate",
    "gradient-not-finite": "training stopped: the gradient is {norm} at step {step}; try a lower learning rate",
    "weights-unreadable": "weights can't be loaded ({reason}): {path}",
    "weights-missing": "can't be loaded as a language model (weights of {part} are missing): {path}",
    "encoder-unreadable": "can't be loaded as an encoder ({reason}): {path}",
    "encoder-incomplete": "can't be loaded as an encoder (weights of {part} are missing): {path}",
    "sentence-module-unsupported": (
        "encoders with {module} are not supported; those with cls, mean or lasttoken pooling are: {path}"
    ),
    "sentence-file-unreadable": "not as sentence-transformers writes it; fetch the model again, or remove it: {path}",
    "prompt-tuned-encoder": "a soft prompt can't be trained before an encoder; set `what` to all, lora or adapters",
    "vectors-ending": "vectors can be written to a file that ends in {endings:or}: {path}",
    "not-an-encoder": "the model gives no vectors: {model!r}",
    "file-without-documents": "no documents in the file: {path}",
    "documents-on-terminal": "name a file of documents, or send one: taskloom encode MODEL < documents.jsonl",
    "parquet-to-terminal": "Parquet can't be shown on a terminal; name a file: -o vectors.parquet",
    "adapters-mapping": "`adapters` must name a folder for each form, as {{PRX: FOLDER}}: {given}",
    "adapter-missing": (
        "not an adapter as the package `adapters` saves it with use_safetensors=True, it has no {file}: {path}"
    ),
    "adapter-unreadable": "can't be loaded as an adapter of this encoder ({reason}): {path}",
    "adapter-config-unreadable": "not the configuration of a bottleneck adapter: {path}",
    "adapter-kind": "only adapters of kind seq_bn (pfeiffer) are supported; others are set: {names}: {path}",
    "adapter-of-other": "an adapter of another model ({other}): {path}",
    "adapters-differ": "adapters of all forms must have one reduction factor: {reductions}",
    "export-no-vectors": "only encoders can be exported, which were trained with `goal: vectors`: {path}",
    "training-unknown": "{model} was trained with seeds {seeds}, not with {given}",
    "training-several": "{model} was trained with several seeds; name one of them with --training: {seeds}",
    "trained-for-each": "{model} was trained {count} times, for tasks or draws of their own, and is not one encoder",
    "not-trained-yet": "the model is not trained yet; run the study: {path}",
    "export-exists": "exists; not overwritten, name another folder: {path}",
    "export-forms": "{to} can't express an encoder that is told its forms by {tell}; export it to a folder",
    "export-unsupported": "encoders of family {family!r} can't be exported to this layout",
    "pals-unsupported": "PALs have no known place in models of family {family!r}; set `tell` to codes or adapters",
    "pal-heads-unfit": "`pal_size` must be a multiple of `pal_heads`, {heads}: {size}",
    "forms-unfit": "forms must be different names of letters, digits, _ and -: {forms}",
    "formats-unreadable": "not as an encoder's forms are written; make or export the encoder again: {path}",
    "form-missing": "the encoder has a vector for each form, and none without; name one of: {forms}",
    "formats-recompute": "`recompute` can't be used with {tell}; leave it out, and set `accumulate` to save memory",
    "formats-below": (
        "{tell} can't be trained on a model with {below}; fusion needs a model with adapters, and others one without "
        "forms"
    ),
    "formats-other-base": "trained on other weights than the encoder's; name the base that it was trained on: {path}",
    "formats-before-lessons": "an encoder that is told forms can't be trained as a language model after that",
    "cls-missing": (
        "control codes and pooling `cls` need a tokenizer that begins texts with [CLS]; set `tell` or `pooling` to "
        "another value: {family}"
    ),
    "vectors-not-kept": (
        "vectors can't be kept ({reason}); those before are; free some space (`taskloom cache` lists what is there), "
        "or name another folder in TASKLOOM_CACHE, and run again: {path}"
    ),
    "vectors-unreadable": "vectors of another cache can't be read ({reason}), and were left as they are: {path}",
    "vectors-lost": (
        "{count:vector} read back otherwise than written; check the disk, or name another TASKLOOM_CACHE: {path}"
    ),
    "function-missing": "no such file, or not a text: {path}",
    "function-not-loaded": "{path} can't be loaded ({reason})",
    "function-failed": "the function failed ({reason}): {name}",
    "text-refused": "the endpoint refuses a text as too long: {text!r} ({url})",
    "vectors-vary": "the endpoint gave vectors of different lengths ({widths}): {url}",
    "vectors-not-each": "the endpoint must give a vector for each of {texts:text}: {url}",
    "vectors-file-missing": "no such file of vectors: {path}",
    "vectors-alone": "only vectors of documents, and no model: {model}",
    "vectors-not-finite": "the encoder gave a vector with NaN or infinity for text {text!r}",
    "vectors-unfit": "the encoder gave vectors of shape {found}, and must give {wanted}",
    "weights-not-here": "the model is not on this machine; fetch it with `taskloom models get {model}`",
    "weights-elsewhere": (
        "{said_by} names weights that are not *.safetensors files beside it, which the model's digest would not cover "
        "({file}): {path}"
    ),
    "weights-cut": "the file is shorter than its header says; fetch or copy it again ({file}): {path}",
    "weights-index-unreadable": "not an index of weights (it has no `weight_map` of file names): {path}",
    "weights-adapter": "adapters are not supported; merge it into its model ({file}): {path}",
    "gguf-unreadable": "GGUF file can't be read ({kind}: {reason}): {path}",
    "gguf-weights-missing": "GGUF file can't be read (weights of {part} are missing): {path}",
    "chat-template-endless": "the chat template of the model does not end, or writes too much ({most:,} steps)",
    "chat-template-broken": "the chat template of the model can't be used ({reason})",
    "setting-implausible": "a setting of the model does not go with its weights, {name} = {value}: {path}",
    "tokenizer-broken": "the tokenizer of the model can't be used ({reason})",
    "config-unreadable": "not the configuration of a model: {path}",
    "chat-template-missing": "the model has no chat template; remove `chat`",
    "context-too-small": "no room for a prompt: {written} output tokens in a context of {context}",
    "context-too-large": "`context` must be <= {most:,}, the limit of the model: {wanted:,}",
}
PRETRAINING = {
    "vocabulary-too-small": "the vocabulary must have room for special tokens, bytes and one more, >= {least}: {given}",
    "objective-unfit": "the objective of {model} must be {known:or}: {given!r}",
    "texts-missing": "no texts were read: {sources}",
    "texts-all-held-out": "{held_out:,} of {texts:text} held out, which leaves none to learn from; hold out fewer",
    "texts-too-short": "no text of {texts:,} is long enough for objective {objective}",
    "text-too-short": "texts too short for the objective, dropped",
    "length-too-large": "`length` must be <= {most} for {model}: {given}",
    "not-a-pretrained-model": "exists and is not a model that `taskloom pretrain` made; not overwritten: {path}",
    "pretrained-otherwise": (
        "a model is here that was pre-trained with other settings or texts; name another folder, or use --force: {path}"
    ),
    "pretraining-differs": (
        "pre-training with other settings or texts was begun here; finish that, or start again with --force: {path}"
    ),
    "pretraining-under-way": "another process is pre-training here: {path}",
    "text-empty": "empty texts, dropped",
    "text-duplicate": "duplicate texts, dropped",
    "texts-of-test-items": "texts of tasks with a single pool, where test items are among them",
}
PEOPLE = {  # what is skipped in human evaluation
    "task-without-text": "tasks whose output is not text",
    "learner-without-texts": "learner {learner}: no texts with {shots}",
    "item-not-answered-by-all": "items not answered by all learners",
    "item-without-reference": "items without a reference",
}
CHALLENGES = {
    "exists-already": "exists; use --force to replace it: {paths}",
    "not-overwritten": "exists and is not a challenge, or has other files; not overwritten: {path}",
    "answers-inside": "answers must not lie in the participant's folder {folder}; name another file: {path}",
    "challenge-outputs": (
        "a challenge is of tasks with one label for each item; choose others with `tasks`: {tasks:first 5}"
    ),
    "challenge-undrawable": "episodes of the study can't be drawn; choose other tasks, or smaller sets:",
    "challenge-items-doubled": "two items of one pool have the same id; see `taskloom check`: task {task!r}",
    "challenge-draws-doubled": "two settings draw the same episodes; drop one: task {task!r}, episode {episode}",
    "label-in-field": "field {name!r} is the label itself; drop it from the inputs: task {task!r}",
    "questions-told": (
        "{told:,} of {asked:question} are about items whose label another episode shows: participants must answer each "
        "episode by itself; tasks with train and test pools have no such questions: {tasks:first 12}"
    ),
    "challenge-classes-dropped": (
        "task {task!r}: classes dropped in some episodes, with their examples: {classes:sizes 20}"
    ),
    "not-a-challenge": "not a challenge (it has no {file}): {path}",
    "challenge-file-missing": "a file of the challenge is missing: {path}",
    "challenge-damaged": "not as taskloom wrote it ({reason}): {path}",
    "challenge-edited": "the challenge was edited: its hash differs; get it again: {path}",
    "challenge-newer": (
        "challenge format {found} is newer than {known}, which this release reads; upgrade taskloom: {path}"
    ),
    "lines-unreadable": "{count:line} can't be read: {path}",
    "file-too-large": "larger than {most:,} bytes: {path}",
    "not-utf": "not UTF-8 ({reason} at byte {place}); save it as UTF-8: {path}",
    "not-json": "not JSON ({reason}): {path}",
    "answers-expected": "not the answers to a challenge: {path}",
    "answers-of-another": "these are the answers to another challenge, not to {name!r} with hash {hash}: {path}",
    "answers-edited": "the answers were edited: their digest differs; make the challenge again: {path}",
    "predictions-expected": (
        'must be {{QUESTION: {{"label": LABEL}}}}, or {{"submission": {{...}}, "predictions": {{...}}}}: {path}'
    ),
    "predictions-empty": "no question is answered: {path}",
    "predictions-faulty": "the predictions do not fit the challenge: {path}",
    "predictions-partial": "questions are missing; merge the other parts, or use --partial: {path}",
    "submission-faults": "what is said of the submission is wrong: {path}",
    "submission-doubled": "two submissions have the same name; name them NAME=FILE: {name!r}",
    "submissions-differ": "the parts are of different submissions; they differ in {names}",
    "merge-conflicts": "the same question has two answers; remove one:",
    "answers-differ": "{count:question} answered otherwise before; the first: {question} ({path})",
    "question-missing": "{count:question} without an answer; the first: {question}",
    "question-unknown": "{count:answer} to questions that the challenge does not have; the first: {question}",
    "question-doubled": "{count:question} answered more than once; the first: {question}",
    "label-outside": (
        "{count:label} that the episode does not have; the first: {label}, question {question}, whose labels are "
        "{labels:first 12}"
    ),
    "prediction-malformed": '{count:answer} not of the form {{"label": TEXT}}; the first: question {question}',
    "score-malformed": (
        "{count:score} neither a number nor a list with one for each label; the first: question {question}, which has "
        "{labels:label}"
    ),
    "episode-unanswered": "episodes that a submission does not answer in full, not scored",
    "no-whole-episode": "no episode is answered in full: {path}",
    "protocol-unknown": "the protocol must be {known:or}: {given!r}",
    "protocol-missing": "a submission must say its protocol ({known:or}), or use --protocol: {names:first 5}",
    "draws-differ": "no episode of the run is one of challenge {name!r}: run the study that it was made of: {run}",
}
FAULTS: Mapping[str, str] = {  # what `taskloom check` looks for: E are errors, W are warnings
    "E001": "the data differs from its digest",
    "E101": "duplicate example in a pool",
    "E102": "duplicate id in a pool",
    "E103": "an answer is empty or invalid for its task",
    "E104": "an input is empty",
    "E105": "a document or its store is missing",
    "E106": "duplicate id in a store",
    "E201": "an input is in two pools of its task, or a record in two splits",
    "E202": "a group is in two pools of its task",
    "E203": "pools of a task are not train and test, with or without dev, nor a single pool",
    "E301": "a fold names a task that is not in the suite",
    "E302": "a task has two roles in a fold",
    "E303": "tasks of two roles share a source",
    "E304": "texts of two roles overlap",
    "E401": "a task file or split list can't be read, or a field is missing or invalid",
    "E402": "a task file has too few or too many instances",
    "E403": "duplicate input or id in a task file",
    "E404": "an input or output of a task file is empty",
    "E405": "a positive example of a task file is among its instances",
    "E406": "a task is in two splits, or twice in one",
    "E407": "duplicate key in an object of a task file",
    "E408": "duplicate id in two task files",
    "W101": "labels are imbalanced",
    "W102": "a field is empty in some records",
    "W103": "a term contains the separator of its list",
    "W105": "a list has a single term in nearly all records",
    "W104": "an input has different answers in a pool",
    "W106": "labels differ in case or spaces alone",
    "W107": "records of two splits are near duplicates",
    "W108": "a label of the test split is in no training record",
    "W401": "labels of a task file are imbalanced",
    "W402": "a task is in no split of any track",
    "W403": "unknown category, language or domain",
    "W404": "instances of a task file have no id",
    "W405": "the output of an example is a list; only the first is shown",
    "W406": "a task file has no positive, or no negative example",
    "W407": "a field of a task file is empty, or the licence is missing",
}
_UNBALANCED = "normalised entropy {entropy:.2f}, below {wanted}; {label!r} has {most:,} of {of:,}"
FAULT_TEXTS = {  # by the code of a fault, with a word where it has several texts
    "E001-column": "the column's digest differs from the manifest's",
    "E001-view": "the view's digest or size differs from the manifest's",
    "E001-pool": "the pool's digest differs from the manifest's",
    "E001-rows": "{rows:,} rows instead of the {declared:,} of the manifest",
    "E001-labels": "the stored labels differ from those of the answers",
    "E101": "{count:duplicate row}: {shown}",
    "E102": "{count:duplicate id}: {shown}",
    "E103": "{count:invalid answer}: {shown}",
    "E104": "{count:empty input}: {shown}",
    "E001-linked": "the digest of the pool or of its documents differs from the manifest's",
    "E105-store": "unknown store: {store!r}; {hint}",
    "E105-unlinked": "candidates are in store {store!r}, but the pool is not linked to it: {kind}",
    "E105-other": "the pool is linked to a store of another suite: {store!r}",
    "E105-documents": "missing in store {store!r}: {ids:first 5}",
    "E105-members": "{count:member} missing in the store: {shown}",
    "E106": "{count:duplicate id}: {shown}",
    "E201": "{count:input} in both: {shown}",
    "E201-records": "{count:,} of {of:record} of {held_out} have the same text as a record of {learnt}: {shown}",
    "E202": "{count:group} in both: {shown}",
    "E203": "pools must be train and test, with or without dev, or a single pool: {pools}",
    "E301": "unknown task: {task}",
    "E302": "{count:task} in both: {shown}",
    "E302-held-out": "{task} is also a {kind} task",
    "E303": "{task} and {other} share a source: {sources}",
    "E304-overlap": "{task} and {other} share {share:.0%} of a text ({place} ~ {other_place})",
    "E304-equal": "{task} and {other} share a short text ({text!r}; {place} ~ {other_place})",
    "E401-name": "the name of the file is not UTF-8; rename it",
    "E401-json": "invalid JSON ({reason})",
    "E401-object": "a task file must be an object, not {kind}",
    "E401-half": "invalid Unicode (a lone surrogate)",
    "E401-size": "must not be larger than {most:,} bytes: {bytes:,}",
    "E401-unreadable": "can't be read ({reason})",
    "E401-encoding": "not UTF-8 ({reason} at byte {byte}, line {line})",
    "E401-missing": "missing",
    "E401-definition": "must be a text or a list of texts, and not empty",
    "E401-kind": "must be {wanted}, not {kind}",
    "E401-part": "must be {wanted}, not {kind} with {part}",
    "E401-no-text": "must not be an empty list",
    "E402": "must have {fewest} to {most:,} instances: {count:,}",
    "E403": "duplicate of {other}",
    "E404": "empty",
    "E405": "also in {other}",
    "E406-lists": "{task} is in {one} and {other}",
    "E406-twice": "{task} is a duplicate of [{first}]",
    "E407": "duplicate key; only the last is used",
    "E408": "duplicate of {other}",
    "E408-more": "duplicate of {other}; and {more:more id} of that file",
    "W101": _UNBALANCED,
    "W102": "empty in {empty:,} of {of:,} records, which are dropped from tasks that use it",
    "W103": "{separator!r} is in {count:term}: {shown}",
    "W104": "{count:duplicate input} with a different answer",
    "W105": "set the separator, as --separator {column}=',': {shown}",
    "W102-split": "missing in every record of {split}: tasks that use it have none there",
    "W104-labels": "{count:text} with two labels or more: {shown}",
    "W106": "{count:label} written in more than one way, kept apart: {shown}",
    "W106-spaces": "{count:label cell} with other spaces, read as one label: {shown}",
    "W107": "{count:,} of {of:record} of {held_out} share half of their text or more with one of {learnt}: {shown}",
    "W108": "{count:label} of test in no training record: {shown}",
    "W401": _UNBALANCED,
    "W402": "{task} is in no split of any track",
    "W403": "unknown: {name!r}; {hint}",
    "W404": "{count:instance} without an id, which is generated; the first: {first}",
    "W405": "must be a text, not a list of {count:text}; only the first is shown",
    "W406": "empty",
    "W407-missing": "missing",
    "W407-empty": "empty",
    "more": "and {count:,} more",  # in a list, after the first
}
LEXICA = {  # words and facts
    "not-wordnet": "not a folder of WordNet's files (it has no {file}): {path}",
    "wordnet-malformed": "not in WordNet's format: {path}:{line}",
    "list-of-other-language": "{name} is English; name a word list for {language!r}, such as data:wordfreq or a file",
    "word-list-needed": "name a word list for {languages}: data:wordfreq, or a file with a word on each line",
    "no-such-list": "no such file: {path}",
    "frequencies-unreadable": "not a list of frequencies of wordfreq: {path}",
    "npm-missing": "{name!r} needs npm, which is not installed: {instead}",
    "instead-wordfreq": "words come from data:wordfreq instead",
    "instead-no-sentiment": "tasks about sentiment are unavailable",
    "sentiment-unavailable": "no sentiment scores for this language; name them with sentiment=FILE, or install npm",
    "relation-unavailable": "unavailable: {name}; {reason}",
    "lexicon-damaged": "can't be kept; is the disk full? {path}",
    "wn-missing": "wn: sources need an extra: pip install 'taskloom[wn]'",
    "wn-lexicon-missing": "wn has no such lexicon ({reason}); python -m wn download NAME gets one: {names!r}",
    "query-malformed": "not SPARQL: {reason}",
    "select-expected": "a SELECT query is needed",
    "variables-expected": "a SELECT query must name its variables, so that its rows have an order",
    "facts-too-large": "larger than {most:,} bytes when unpacked: {path}",
    "triple-malformed": "malformed triple at line {line}: {reason}: {path}",
    "triple-column-missing": "column {name!r} is missing; a file of facts has subject, property and object",
    "triple-cell-wrong": "not a fact: {reason}",
    "sparql-address-wrong": "must be the address of a SPARQL endpoint, without a password: {url}",
    "not-sparql-results": "not a SPARQL endpoint: it answers with {kind}, {said!r}; check the address: {url}",
    "sparql-results-broken": "not SPARQL results in JSON: {said!r}",
}
TOPICS: tuple[Mapping[str, str], ...] = (
    GENERAL, ANSWERS, ROWS, LABELLED, DOCUMENTS, TABLES, GUESSES, FUNCTIONS, COUNTS, STUDIES, SCORES, TRANSFER, PROMPTS,
    ASKING, REPORTS, FINDINGS, LEARNERS, EPISODES, MODELS, ENDPOINTS, WEIGHTS, PRETRAINING, PEOPLE, CHALLENGES, LEXICA,
    PLANNING, CLUSTER, FAULT_TEXTS,
)  # fmt: skip
TEXTS = {code: text for topic in TOPICS for code, text in topic.items()}
FIELD = "field"  # the value that names the field of an answer that a note is about


@dataclass(frozen=True, slots=True)
class Note:
    """A message: a code, and its values in the order of their names."""

    code: str
    values: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, code: str, **values: Any) -> Note:
        """Make a note; values are texts, numbers, other notes, and lists of these; anything else is kept as its text.

        >>> Note.of("label-unknown", given="'maybe'").values
        (('given', "'maybe'"),)
        """
        return cls(code, tuple((name, _plain(values[name])) for name in sorted(values)))

    def of_field(self, name: str) -> Note:
        """Add the field of an answer that the note is about.

        >>> str(Note.of("empty-output").of_field("title"))
        'title: empty output'
        """
        return replace(self, values=tuple(sorted({**dict(self.values), FIELD: name}.items())))

    @property
    def key(self) -> str:
        """Give what notes are counted by: the code, and the field where there is one."""
        field = dict(self.values).get(FIELD)
        return f"{field}/{self.code}" if field else self.code

    def to_json(self) -> dict[str, Any]:
        """Write a note as JSON; `from_json` reads it back."""
        return {"code": self.code, "values": {name: _to_json(value) for name, value in self.values}}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Note:
        """Read what `to_json` wrote."""
        return cls(kept["code"], tuple((name, _from_json(value)) for name, value in sorted(kept["values"].items())))

    def __str__(self) -> str:
        """Render the text; a code without one, or with the values of another release, is shown as it is."""
        values = dict(self.values)
        text, _, more = TEXTS.get(self.code, "").partition("|")
        template = text + more if values.keys() - {FIELD} else text
        try:
            shown = WORDS.vformat(template, (), values) if template else self._bare()
        except (LookupError, ValueError, TypeError):
            shown = self._bare()
        return f"{values[FIELD]}: {shown}" if FIELD in values and f"{{{FIELD}" not in template else shown

    def _bare(self) -> str:
        values = ", ".join(f"{name}: {value}" for name, value in self.values if name != FIELD)
        return f"{self.code} ({values})" if values else self.code


def text_of(key: str) -> str:
    """Render what was counted by a note's key; a key without a text, such as a learner's own, is shown as it is.

    >>> text_of("title/label-unknown"), text_of("rhymes")
    ('title: label not declared', 'rhymes')
    """
    field, _, code = key.rpartition("/")
    return str(Note(code).of_field(field)) if field and code in TEXTS else str(Note(key))


def counted_notes(notes: Mapping[Note, int]) -> list[dict[str, Any]]:
    """Write counts as JSON.

    >>> counted_notes({Note.of("row-faulty"): 2, Note.of("not-converged"): 0})
    [{'code': 'row-faulty', 'values': {}, 'count': 2}]
    """
    return [note.to_json() | {"count": count} for note, count in notes.items() if count]


def counted_text(kept: Sequence[Mapping[str, Any]]) -> str:
    """Render what `counted_notes` wrote.

    >>> counted_text([{"code": "row-faulty", "values": {}, "count": 2}])
    '2 (rows with errors)'
    """
    return ", ".join(f"{one['count']:,} ({Note.from_json(one)})" for one in kept)


class _Words(string.Formatter):
    """Write values: lists with commas, `{count:row}` as "3 rows", and other named forms."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Write a value in its form; what is neither a form nor a noun is Python's."""
        form, _, more = format_spec.partition(" ")
        if form in FORMS:
            return FORMS[form](value, more)
        if NOUN.fullmatch(format_spec):
            return f"{value:,} {format_spec}{'' if value == 1 else 's'}"
        return _listed(value) if isinstance(value, tuple) else str(super().format_field(value, format_spec))


def money(dollars: float) -> str:
    """Write an amount with two decimals, or with two digits that are not 0 where it is small.

    >>> money(1234.5), money(0.25), money(0.0004), money(0.00001234), money(0)
    ('1,234.50', '0.25', '0.00040', '0.000012', '0.00')
    """
    decimals = 2 if abs(dollars) >= 0.1 or not dollars else 1 - math.floor(math.log10(abs(dollars)))
    return f"{dollars:,.{decimals}f}"


def _listed(values: Sequence[object], most: str = "") -> str:
    """Write a list, or its first items and the number of others."""
    shown = values[: int(most)] if most else values
    texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..." for text in map(str, shown)]
    return ", ".join(texts) + FORMS["and"](len(values) - len(shown), "more") if values else "none"


def _settings(shots: Sequence[int | str]) -> str:
    """Write settings of shots.

    >>> _settings([0, 4]), _settings([1]), _settings([4, "all"]), _settings(["drawn"])
    ('0 and 4 shots', '1 shot', '4 shots and all examples', 'drawn shots')
    """
    counted = [str(n) for n in shots if n != "all"]
    noun = "shot" if counted == ["1"] else "shots"
    parts = [f"{FORMS['all'](counted, '')} {noun}"] if counted else []
    return " and ".join([*parts, *("all examples" for n in shots if n == "all")])


NOUN = re.compile("[a-z][a-z ]+")
LONGEST = 80  # characters of one thing in a list
FORMS: Mapping[str, Callable[[Any, str], str]] = {  # given the value, and what stands after the form's name
    "first": _listed,
    "all": lambda values, _: " and ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values),
    "or": lambda values, _: " or ".join(map(str, values)),
    "and": lambda number, what: f" and {number:,} {what}" if number else "",
    "money": lambda dollars, _: money(dollars),
    "settings": lambda shots, _: _settings(shots),
    "sizes": lambda pairs, most: _listed([f"{name} ({size:,})" for name, size in pairs], most),
}
WORDS = _Words()


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_plain(part) for part in value)
    return value if value is None or isinstance(value, str | int | float | Note) else str(value)


def _to_json(value: Any) -> Any:
    if isinstance(value, Note):
        return value.to_json()
    return [_to_json(part) for part in value] if isinstance(value, tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Note.from_json(value)
    return tuple(_from_json(part) for part in value) if isinstance(value, list) else value
