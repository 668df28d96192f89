"""Turn data into suites of tasks, and measure how well a model adapts to tasks it has not seen."""

__version__ = "0.1.0"
