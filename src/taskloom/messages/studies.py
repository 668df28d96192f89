"""Texts of messages: studies, episodes and clusters, challenges and people."""

from __future__ import annotations

STUDIES = {  # why a study can't be run, and why cells are skipped, or fail
    "study-faults": "the study has {count:error}:",
    "only-unmatched": "--only matches no task and no learner of the study: {names}",
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
    "answer-too-deep": "lists and mappings of an answer must not be nested in more than {most} levels",
    "learner-raised": "{error}",
    "draw-differs": "the suite or the sampler was changed after planning; run again",
    "artifact-differs": (
        "training model {model} again gave a different result: copy artifacts/{cell} from the machine that trained it "
        "first, or run into another folder (-o)"
    ),
    "learner-untrusted": (
        "learner {learner!r} is code in a file, which runs only with --trust-code; use that for runs that you trust: "
        "{path}"
    ),
    "model-untrusted": (
        "model {model!r} is code in a file, which runs only with --trust-code; use that for runs that you trust: {path}"
    ),
    "endpoint-untrusted": (
        "model {model!r} is an endpoint, which gets texts and a key only with --trust-code; use that for runs that you "
        "trust: {url}"
    ),
    "result-damaged": "the result of cell {cell} is damaged in the ledger; run the study again",
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
    "ways-of-few": (
        "task {task!r} has {classes:,} classes, and `ways` draws {least} or more; use fewer, or `all_up_to: {classes}` "
        "to take all classes of such tasks"
    ),
    "class-too-small": "classes with fewer than {least} examples: {classes:sizes 20}",
    "too-few-examples": (
        "too few examples for the {role} set of task {task!r}; make the sets smaller: "
        "{wanted} needed, {found} of {size} left"
    ),
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
    "cluster-other": "what answers is no Ray cluster; name the port that `ray start --head` prints: {address}",
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
CHALLENGES = {
    "exists-already": "exists; use --force to replace it: {paths}",
    "submissions-named-alike": (
        "{names:all} would be written to one file; export them to two folders, with --learner: {file}"
    ),
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
        "{told:,} of {asked:question} of {tasks:first 12} are about items whose label another episode shows: "
        "participants must answer each episode by itself; tasks with train and test pools have no such questions"
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
PEOPLE = {  # what is skipped in human evaluation
    "task-without-text": "tasks whose output is not text",
    "learner-without-texts": "learner {learner}: no texts with {shots}",
    "item-not-answered-by-all": "items not answered by all learners",
    "item-without-reference": "items without a reference",
}
