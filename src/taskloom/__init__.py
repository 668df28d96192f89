"""Turn data into suites of tasks, and measure how well a model adapts to tasks it has not seen.

What one needs most is here: `taskloom.run("quickstart")`, `taskloom.build("quickstart")`,
`taskloom.open_suite(folder)`, `taskloom.open_run(folder)`, `taskloom.summarise(results)`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "EpisodeCosts": "sample_sizes",
    "Learner": "learners",
    "Response": "learners",
    "StudyLearner": "studies.study",
    "Overrides": "studies.overrides",
    "StudyProtocol": "studies.study",
    "Sampler": "episodes",
    "Study": "studies.study",
    "Variation": "sample_sizes",
    "build": "benchmarks",
    "check": "suites.check",
    "class_reports": "reports.classes",
    "compare": "reports",
    "learner": "learners",
    "make_challenge": "studies.challenge_make",
    "metric": "scores",
    "open_challenge": "studies.challenge",
    "open_run": "studies.api",
    "open_suite": "suites.store",
    "render": "reports",
    "run": "studies.api",
    "sample_size": "sample_sizes",
    "score": "scores",
    "score_challenge": "studies.challenge_score",
    "shared_errors": "reports.classes",
    "show_prompt": "studies.prompting",
    "summarise": "reports",
    "transfer": "reports.transfer_runs",
    "write_plots": "reports.plot_files",
    "write_predictions": "studies.submissions",
    "write_suite": "suites.store",
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'taskloom' has no attribute {name!r}")
    return getattr(import_module(f".{_EXPORTS[name]}", __name__), "write" if name == "write_suite" else name)


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *_EXPORTS])
