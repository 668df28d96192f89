"""Texts of messages: models, their weights and training, and endpoints."""

from __future__ import annotations

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
    "endpoint-moved": (
        "{url} sends requests elsewhere (HTTP {status}), which is not followed, as a key would be sent there; name the "
        "right address"
    ),
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
    "address-with-key": (
        "the address of an endpoint must not hold a key, a password or a query; put the key into a variable of the "
        "environment, and name that with `key`"
    ),
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
    "export-fake": "a fake has no weights to export; train a model that has: {model}",
    "export-no-vectors": "only encoders can be exported, which were trained with `goal: vectors`: {path}",
    "trained-from-itself": "a model is trained from itself: {model!r}",
    "training-unknown": "{model} was trained with seeds {seeds}, not with {given}",
    "training-several": "{model} was trained with several seeds; name one of them with --training: {seeds}",
    "trained-for-each": "{model} was trained {count} times, for tasks or draws of their own, and is not one encoder",
    "not-trained-yet": "the model is not trained yet; run the study: {path}",
    "tasks-left-out-alone": "tasks of a trained model must name some that it is trained on, such as @train: {tasks}",
    "export-groups": "an encoder of random groups of tasks (`by: random`) is of no use outside its run",
    "export-exists": "exists; not overwritten, name another folder: {path}",
    "export-forms": "the layout of {to} has no place for forms told by {tell}; export the encoder to a folder",
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
    "formats-before-lessons": "an encoder with forms can't be trained as a language model; do that before",
    "cls-missing": (
        "control codes and pooling `cls` need a tokenizer that begins texts with [CLS]; set `tell` or `pooling` to "
        "another value: {family}"
    ),
    "vectors-disk-full": (
        "vectors can't be kept (the disk is full); those before are; free some space (`taskloom cache` lists what is "
        "there), or name another folder in TASKLOOM_CACHE, and run again: {path}"
    ),
    "vectors-not-kept": (
        "vectors can't be kept ({reason}); those before are; name another folder in TASKLOOM_CACHE, and run again: "
        "{path}"
    ),
    "vectors-not-merged": "the others were merged; {count} folders of vectors can't be read: {path}",
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
    "chat-template-endless": (
        "the chat template of the model does not end, or writes too much "
        "(more than {seconds:g} seconds of processor time, or {characters:,} characters)"
    ),
    "chat-template-broken": "the chat template of the model can't be used ({reason})",
    "setting-implausible": "a setting of the model does not go with its weights, {name} = {value}: {path}",
    "setting-names-code": (
        "a setting of the model names a program to compute with, which is never fetched or run, {name} = {value!r}; "
        "remove it: {path}"
    ),
    "settings-too-many": "more than {most:,} values in the settings of a model: {path}",
    "family-unsupported": (
        "can't be loaded: transformers knows no models of texts of family {family!r}, and code that a model brings "
        "along is never run: {path}"
    ),
    "tokenizer-costly": "the tokenizer asks for far more than any that is of use, {what} = {value:,}: {path}",
    "tokenizer-unreadable": "a file of the tokenizer can't be read ({reason}): {path}",
    "tokenizer-beyond": (
        "the tokenizer gives token {token:,}, and the model has weights for {size:,}; fetch the model again, with its "
        "own tokenizer"
    ),
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
    "processes-not-joined": (
        "the processes that train together can't find each other ({reason}); start them with torchrun, or unset "
        "WORLD_SIZE"
    ),
    "pretraining-under-way": "another process is pre-training here: {path}",
    "text-empty": "empty texts, dropped",
    "text-duplicate": "duplicate texts, dropped",
    "texts-of-test-items": "texts of tasks with a single pool, where test items are among them",
}
