from __future__ import annotations

from taskloom.studies.backlog import Backlog, Holding
from taskloom.studies.cells import Cell
from taskloom.studies.resources import Resources

PLAIN, GPU = Resources(), Resources(gpu=1)


def cell(name: str) -> Cell:
    return Cell(id=name, key="", task="t", learner="l")


def filled(*lines: tuple[str, Resources, tuple[str, ...]]) -> Backlog:
    backlog = Backlog()
    for name, takes, models in lines:
        backlog.add(cell(name), takes, models)
    return backlog


def holding(*models: tuple[str, ...]) -> Holding:
    found = Holding()
    for each in models:
        found.add(each)
    return found


def taken(backlog: Backlog, own: Holding, *others: Holding, takes: Resources = PLAIN, idle: bool = True) -> str | None:
    found = backlog.take(takes, own, others, idle=idle)
    return found[0].id if found else None


def test_a_worker_is_given_the_cells_whose_models_it_holds_first():
    backlog = filled(("a", PLAIN, ("small",)), ("b", PLAIN, ("large",)), ("c", PLAIN, ("small",)))
    assert taken(backlog, holding(("large",))) == "b"
    assert taken(backlog, holding(("large",))) == "a"
    assert len(backlog) == 1


def test_a_worker_leaves_cells_to_those_that_hold_their_models_unless_it_is_idle():
    backlog = filled(("a", PLAIN, ("small",)), ("b", PLAIN, ("large",)))
    assert taken(backlog, holding(), holding(("small",)), idle=False) == "b"
    assert taken(backlog, holding(), holding(("small",)), idle=False) is None
    assert taken(backlog, holding(), holding(("small",)), idle=True) == "a"


def test_cells_that_need_no_model_go_to_anybody():
    backlog = filled(("a", PLAIN, ()))
    assert taken(backlog, holding(("x",)), holding(("y",)), idle=False) == "a"


def test_cells_go_to_workers_with_what_they_take_in_order():
    backlog = filled(("a", GPU, ("m",)), ("b", PLAIN, ("m",)), ("c", GPU, ("m",)))
    assert backlog.counts() == {GPU: 2, PLAIN: 1}
    backlog.add(cell("again"), GPU, ("m",), first=True)
    assert [taken(backlog, holding(), takes=GPU) for _ in range(4)] == ["again", "a", "c", None]
    assert [one.id for one in backlog.clear()] == ["b"]


def test_an_idle_worker_takes_cells_that_need_less_memory_and_nothing_that_it_would_compute_otherwise():
    large = Resources(memory=10**9)
    backlog = filled(("gpu", GPU, ()), ("two", Resources(cpu=2), ()), ("small", PLAIN, ("m",)))
    assert taken(backlog, holding(), takes=large, idle=False) is None
    assert [taken(backlog, holding(), takes=large) for _ in range(2)] == ["small", None]
    assert taken(filled(("large", large, ())), holding()) is None


def test_of_trained_models_a_worker_holds_the_last_few():
    own = holding(*((f"m{n}", f"cell{n}") for n in range(5)), ("plain",))
    assert [own.has((f"m{n}", f"cell{n}")) for n in range(5)] == [False, False, True, True, True]
    assert own.has(("plain",))
    assert not own.has(("m4", "another"))
