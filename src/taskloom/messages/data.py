"""Texts of messages: tables, data sets, documents, words and facts."""

from __future__ import annotations

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
TABLES = {  # that can't be read as they are
    "file-of-other-format": "a {kind} file, not {format}; give it the ending of its format, or save it as CSV: {path}",
    "file-unmarked": "NUL characters, as UTF-16 has without its mark; {remedy} {encoding}: {path}",
    "file-of-nuls": "NUL characters at the beginning; is it a binary file, or UTF-16? {path}",
    "column-single": "one column, {name!r}; try --delimiter {delimiter!r}: {path}",
    "column-single-saved": "one column, {name!r}; save it with {delimiter} between columns: {path}",
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
LABELLED = {  # data sets
    "field-column-missing": (
        "no column for {field} ({wanted:or}); build from a declaration, a YAML file with `from: FILE` and "
        "`columns: {{{field}: COLUMN}}`; found: {columns} ({place})"
    ),
    "label-column-missing": (
        "no row has a label, in a column {wanted:or}; where it is called otherwise, build from a declaration, a YAML "
        "file with `from: FILE` and `columns: {{label: COLUMN}}`; the first row: {place}"
    ),
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
    "data-set-names-long": "data set {name!r}: shorten its name and patterns of files to {most:,} characters",
    "labels-single": "data set {name!r} needs two labels or more in {phases}",
    "labels-mixed": "labels of data set {name!r} must be all named, or all numbers",
    "data-sets-not-found": "no data set was found in {folders} (looked for: {names:first 24})",
    "data-set-not-found": "not found: {names}",
    "data-set-unused": "found without rows of the splits that are used: {names}",
    "data-set-not-fetched": "not fetched: {name} ({reason})",
    "declaration-unfit": "the declaration of a data set has errors: {place}",
    "configuration-unfit": "not a line of a configuration of SciRepEval ({reason}): {place}",
    "hub-unknown": "data set {name!r} has no name on the hub; set `hub` in a declaration of your own",
    "hub-name-wrong": (
        "must be the name of a data set of the Hugging Face hub, as hub:ORG/NAME, with :CONFIGURATION and @SPLIT where "
        "they are needed: {name!r}"
    ),
    "hub-name-local": (
        "hub: reads no files of this machine, and this is a local path, or a format of the library datasets; give the "
        "path of a file, or a data set of the hub as hub:ORG/NAME: {name!r}"
    ),
    "hub-extra-missing": "hub: sources need an extra: pip install 'taskloom[hub]'",
    "hub-unreadable": "can't load {name!r} of the Hugging Face hub ({kind}: {reason})",
    "hub-label-unnamed": "a label that the data set has no name for; it names {names}: {value}",
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
    "members-again": "reviewers that come again with other papers, of which the last are kept",
    "cluster-again": "signatures that come again in another cluster, of which the last is kept",
    "judgement-again": "judgements of one pair that differ, of which the highest is kept",
    "label-again": "documents that come again with another label, of which the last is kept",
    "document-missing": "documents that are named and missing",
    "row-document-missing": "rows whose document is missing, or all of whose candidates are",
    "row-of-rare-label": "rows of labels that fewer than {least:,} documents have",
    "documents-missing": (
        "task {name!r} names {count:document} that it does not have: {ids:first 5}; missing=drop drops what names them"
    ),
    "documents-no-rows": "task {name!r} has no examples: its files have no rows, or none that can be read",
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
    "document-fields-missing": "no document has {fields}: {path}",
    "document-columns-missing": "task {name!r}: no row has {columns}; found: {found:first 20}",
    "document-split-unfit": (
        "task {name!r}: queries of found_by have no row of their own, and no split; give the task `split: ''` and, if "
        "some of them should be trained on, held_out"
    ),
    "document-values-unknown": (
        "task {name!r}: values must be metrics of the task ({metrics}), or [none] if it counts towards no mean; "
        "not {values}"
    ),
    "document-link-unfit": (
        "task {name!r} of kind {kind} can't have {links}: a search has found_by, a proximity task same or cites"
    ),
    "document-tasks-expected": (
        "`tasks` must be a mapping of names to mappings, such as `topic: {{kind: search}}`: {place}"
    ),
    "document-tasks-not-found": "no task was found in {folders} (looked for: {names:first 24})",
}
FUNCTIONS = {  # of words, that can't be read or built
    "function-at": "{reason} (at character {place} of {text!r})",
    "function-unreadable": "expected {expected:or}, found {found} at character {place} of {text!r}",
    "function-nested": "brackets must not be nested more than {most} times (at character {place})",
    "function-too-deep": "a function must not be deeper than {most}: {depth}",
    "permuted-inside": "permuted must be the outermost function, or stand directly in map{{}}",
    "relation-expected": "a relation is expected, and this is a predicate: {given}",
    "predicate-expected": "a predicate is expected, and this is a relation: {given}",
    "word-function-expected": "a function of words is expected, and this is one of sequences: {given}",
    "word-expected": "{name} takes a word, 0, not the sequence S; for each word of S use map or filter",
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
LEXICA = {  # words and facts
    "not-wordnet": "not a folder of WordNet's files (it has no {file}): {path}",
    "wordnet-malformed": "not in WordNet's format: {path}:{line}",
    "list-of-other-language": "{name} is English; name a word list for {language!r}, such as data:wordfreq or a file",
    "word-list-needed": "name a word list for {languages}: data:wordfreq, or a file with a word on each line",
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
    "triple-too-long": "a triple that is too long to be read: {path}",
    "triples-nested": "triples within triples, of more than {most} levels: {path}",
    "triple-malformed": "malformed triple at line {line}: {reason}: {path}",
    "triple-column-missing": "column {name!r} is missing; a file of facts has subject, property and object",
    "triple-cell-wrong": "not a fact: {reason}",
    "sparql-address-wrong": "must be the address of a SPARQL endpoint, without a password: {url}",
    "not-sparql-results": "not a SPARQL endpoint: it answers with {kind}, {said!r}; check the address: {url}",
    "sparql-page-repeated": (
        "the endpoint gives rows again that it gave before, as if it ignored OFFSET; take another endpoint, or a file "
        "of facts: {url}"
    ),
    "facts-rows-many": "a function has more than {most:,} pairs of input and output; take a simpler one or fewer facts",
    "sparql-rows-many": "too many rows for one query, {rows:,} so far; take a file of facts: {url}",
    "sparql-results-broken": "not SPARQL results in JSON: {said!r}",
}
