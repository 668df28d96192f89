"""TaskBench500's studies: what each teaches of the functions that packages have data for."""

from __future__ import annotations

import pytest

from taskloom.studies.study import load

MOST = 1000
RELATIONS = {  # examples to teach of the data that packages have, where there are few or many
    "antonyms[eng](0)": 2261, "antonyms[spa](0)": 740, "entailments[eng](0)": 485, "entailments[spa](0)": 110,
    "random{0}[spa](0)": 3605, "wiki{continent(0)}": 206, "wiki{country of citizenship(0)}": 1353,
    "wiki{country of origin(0)}": 160, "wiki{country(0)}": 1889, "wiki{location(0)}": 1567,
    "wiki{location[inv](0)}": 408, "wiki{occupation(0)}": 2161,
}  # fmt: skip
PREDICATES = {  # and those of the rarer class
    "is{POS=adv}[eng](0)": (7299, 621), "wiki{is{instance of=human}(0)}": (6389, 3165),
    "wiki{is{instance of=city}(0)}": (1547, 768), "wiki{is{instance of=taxon}(0)}": (7573, 3734),
    "wiki{is{instance of=film}(0)}": (164, 81), "wiki{is{instance of=book}(0)}": (317, 157),
    "wiki{is{occupation=writer}(0)}": (932, 463), "wiki{is{place of birth=new york city}(0)}": (85, 42),
}  # fmt: skip
SMALLEST = {  # those of which fewer than 64 are left for dev, after 32 of each class, or 32
    "intersection(entailments[eng](0),synonyms[eng](0))": 53, "wiki{languages spoken written or signed(0)}": 62,
    "wiki{subclass of(0)}": 61, "wiki{mother[inv](child(0))}": 49, "wiki{father[inv](mother[inv](0))}": 59,
    "wiki{is{place of birth=london}(0)}": 61, "wiki{is{place of birth=new york city}(0)}": 21,
    "wiki{lor(is{occupation=journalist}(0),is{place of birth=new york city}(0))}": 26,
}  # fmt: skip


@pytest.mark.parametrize("study", ["taskbench-memorisation", "taskbench-permuted-full"])
@pytest.mark.parametrize("form", ["{}", "permuted{{0}}({})"])
def test_1000_examples_are_taught_or_all_where_there_are_fewer(study: str, form: str) -> None:
    protocol = load(study)[0].protocol
    for name, count in RELATIONS.items():
        (shots,) = protocol.of(form.format(name)).shots
        assert shots == (MOST if count >= MOST else "all"), name
    for name, (_, rarer) in PREDICATES.items():
        (shots,) = protocol.of(form.format(name)).shots
        assert shots == (MOST // 2 if rarer >= MOST // 2 else "all"), name


@pytest.mark.parametrize("study", ["taskbench-composition", "taskbench-separators"])
def test_functions_with_few_examples_have_a_dev_set_that_leaves_enough_to_teach(study: str) -> None:
    protocol = load(study)[0].protocol
    for name, left in SMALLEST.items():
        assert 0 < protocol.of(name).sampler.dev <= left, name
        assert protocol.of(name).shots == {32: 4, "all": 1}
    assert protocol.of("antonyms[eng](0)").sampler.dev == 64
    assert protocol.of("map{wiki{subclass of(0)}}(S)").sampler.dev == 64  # it has 1,600 sequences


def test_pairs_with_few_examples_have_a_smaller_dev_set() -> None:
    protocol = load("taskbench-distribution-full")[0].protocol
    for name in ("wiki{subclass of(0)}", "match(wiki{creator[inv](0)},wiki{languages spoken written or signed(0)})"):
        assert protocol.of(name).sampler.dev == 32
    assert protocol.of("wiki{country(0)}").sampler.dev == 64
