"""The parts of the HTML report: the headline, boards of scores, tasks with their items, and how the run was made."""
