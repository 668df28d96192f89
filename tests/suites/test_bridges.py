import pytest

from taskloom.errors import SuiteError, UnknownNameError, UsageError
from taskloom.suites.bridges import PROPOSED, Bridge, Partition, bridge, propose

FIELDS = ("title", "abstract", "keywords", "category", "discipline")

PAPER = {
    "1-1": Partition(("abstract->keywords", "keywords->title"), "abstract->title"),
    "1-2": Partition(("keywords->title", "title->discipline"), "keywords->discipline"),
    "1-3": Partition(("abstract->title+category", "title->keywords"), "abstract+discipline->keywords"),
    "2-1": Partition(("abstract->keywords", "keywords->title", "title->category"), "abstract->category"),
    "2-2": Partition(("abstract->title", "title->keywords", "keywords->discipline"), "abstract->discipline"),
    "3-1": Partition(("keywords->abstract", "title->discipline"), "keywords->discipline"),
    "3-2": Partition(("abstract->keywords", "title->keywords", "title->category"), "abstract->category"),
}


@pytest.mark.parametrize(
    ("name", "shape", "leaps", "whole"),
    [
        ("1-1", "single-leap", 1, True),
        ("1-2", "single-leap", 1, True),
        ("1-3", "single-leap", 1, False),
        ("2-1", "two-leap", 2, True),
        ("2-2", "two-leap", 2, True),
        ("3-1", "broken", -1, False),
        ("3-2", "broken", -1, False),
    ],
)
def test_the_papers_partitions_have_the_shapes_of_its_table(name: str, shape: str, leaps: int, whole: bool) -> None:
    found = bridge(PAPER[name])
    assert (found.shape, found.leaps, found.whole) == (shape, leaps, whole)
    assert found.path == (PAPER[name].meta if shape != "broken" else ())


def test_a_target_among_the_meta_tasks_is_direct() -> None:
    assert bridge(Partition(("a->b", "b->c", "a->c"), "a->c")) == Bridge("direct", 0, ("a->c",), whole=True)


def test_three_fields_on_the_way_are_many_leaps() -> None:
    chain = ("a->b", "b->c", "c->d", "d->e")
    assert bridge(Partition(chain, "a->e")) == Bridge("many-leap", 3, chain, whole=True)


def test_the_order_of_meta_tasks_makes_no_difference_and_the_shortest_way_is_taken() -> None:
    assert bridge(Partition(("c->d", "b->c", "a->b", "b->d"), "a->d")).path == ("a->b", "b->d")
    assert bridge(Partition(("b->c", "a->b"), "a->c")) == bridge(Partition(("a->b", "b->c"), "a->c"))


def test_a_task_of_two_inputs_needs_both_for_a_whole_bridge() -> None:
    assert bridge(Partition(("a->b", "a+b->c"), "a->c")).whole
    partial = bridge(Partition(("a->b", "b+x->c"), "a->c"))
    assert (partial.shape, partial.whole) == ("single-leap", False)


def test_an_input_that_the_path_does_not_use_makes_it_partial() -> None:
    assert not bridge(Partition(("a->b", "b->c"), "a+x->c")).whole


def test_all_outputs_must_be_reached() -> None:
    assert bridge(Partition(("a->b", "b->c"), "a->c+x")).shape == "broken"
    assert bridge(Partition(("a->b", "a->c"), "a->b+c")).shape == "direct"


@pytest.mark.parametrize("meta", [(), ("b->a", "c->b"), ("x->y",)])
def test_a_target_that_can_not_be_reached_is_broken(meta: tuple[str, ...]) -> None:
    assert bridge(Partition(meta, "a->c")) == Bridge("broken", -1, (), whole=False)


def test_a_circle_of_meta_tasks_comes_to_an_end() -> None:
    assert bridge(Partition(("a->b", "b->a", "b->b"), "a->c")).shape == "broken"


@pytest.mark.parametrize("target", ["a->p+q", "a->q+p"])
def test_the_path_is_in_the_order_in_which_it_is_walked(target: str) -> None:
    assert bridge(Partition(("a->q", "q->p"), target)).path == ("a->q", "q->p")


def test_a_name_that_is_no_field_task_is_refused() -> None:
    with pytest.raises(SuiteError, match="not a field task"):
        bridge(Partition(("a->b",), "title"))


@pytest.mark.parametrize("shape", PROPOSED)
def test_every_proposal_has_its_shape_and_comes_once(shape: str) -> None:
    found = list(propose(FIELDS, shape))
    assert {bridge(partition).shape for partition in found} == {shape}
    assert len({(frozenset(partition.meta), partition.target) for partition in found}) == len(found)
    assert all(partition.target not in partition.meta for partition in found)
    assert len({partition.target for partition in found}) == 20  # of every field to every other


@pytest.mark.parametrize(("shape", "count"), [("single-leap", 5 * 4 * 3), ("two-leap", 5 * 4 * 3 * 2)])
def test_every_bridge_of_a_shape_is_proposed(shape: str, count: int) -> None:
    found = list(propose(FIELDS, shape))
    assert len(found) == count
    assert all(bridge(partition).whole for partition in found)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("1-1", "single-leap"), ("1-2", "single-leap"), ("2-1", "two-leap"), ("2-2", "two-leap"), ("3-1", "broken"),
     ("3-2", "broken")],
)  # fmt: skip
def test_the_papers_own_are_among_the_proposals(name: str, shape: str) -> None:
    assert PAPER[name] in list(propose(FIELDS, shape))
    assert PAPER[name] in list(propose(FIELDS, shape, PAPER[name].target))


@pytest.mark.parametrize("shape", PROPOSED)
def test_proposals_for_a_target_are_those_of_all_that_have_it(shape: str) -> None:
    wanted = [partition for partition in propose(FIELDS, shape) if partition.target == "abstract->title"]
    assert list(propose(FIELDS, shape, "abstract->title")) == wanted


def test_a_broken_proposal_is_a_bridge_with_one_task_led_elsewhere() -> None:
    target = "abstract->title"
    bridges = [set(p.meta) for shape in PROPOSED[:2] for p in propose(FIELDS, shape, target)]
    for partition in propose(FIELDS, "broken", target):
        assert any(len(set(partition.meta) - whole) == 1 and len(partition.meta) == len(whole) for whole in bridges)


def test_a_target_of_several_fields_is_refused() -> None:
    with pytest.raises(UsageError, match="one input and one output: 'a\\+b'"):
        list(propose(("a", "b", "c", "d"), "single-leap", "a+b->c"))


def test_two_fields_have_no_bridge_between_them() -> None:
    assert [list(propose(("a", "b"), shape)) for shape in PROPOSED] == [[], [], []]


@pytest.mark.parametrize("shape", ["direct", "many-leap", "brokn"])
def test_an_unknown_shape_is_refused_with_the_nearest(shape: str) -> None:
    with pytest.raises(UnknownNameError, match=f"unknown shape of bridge: '{shape}'"):
        list(propose(FIELDS, shape))


def test_an_unknown_field_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown field: 'titel'; did you mean title"):
        list(propose(FIELDS, "broken", "abstract->titel"))
