"""Texts of messages: learners, their prompts, and what they count."""

from __future__ import annotations

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
    "form-unknown": "model {model} gives no vectors in the form {forms}; it has: {known:first 12}",
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
COUNTS = {  # of events that learners count
    "prompt-refused": "prompts refused by the model",
    "prompt-cut": "prompts cut to fit the context",
    "text-cut": "texts cut to fit the encoder",
    "fields-not-there": "items or documents without any of the fields that are read: all others are read",
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
    "warmup-not-over": "trainings shorter than their warm-up, which learn little: set `warmup` lower",
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
