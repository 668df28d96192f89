"""The training loop: the same steps whatever happens on the way, and only what is to be trained changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from taskloom.errors import ModelError, UsageError
from taskloom.models import checkpoints
from taskloom.models.recipe import Recipe, Watch
from taskloom.models.train import Batch, train
from taskloom.processes import new_owner

TRUE = torch.tensor([[1.0, -2.0, 0.5]])


class Net(nn.Module):
    """A line with dropout, and a weight that has no part in it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.line, self.other, self.drop = nn.Linear(3, 1), nn.Linear(1, 1), nn.Dropout(0.2)

    @property
    def device(self) -> torch.device:
        return self.line.weight.device

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.line(self.drop(x))
        return found


class Squares:
    """Squared errors over random points: batches are functions of the step."""

    epoch = 5

    def __init__(self, parts: int = 1, broken: int = -1) -> None:
        self.count, self.broken, self.asked = parts, broken, list[int]()

    def parts(self, step: int) -> Sequence[Batch]:
        self.asked.append(step)
        x = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
        y = x @ TRUE.T * (math.nan if step == self.broken else 1)
        pairs = zip(x.chunk(self.count), y.chunk(self.count), strict=True)
        return [Batch({"x": a, "y": b}, a.numel(), len(a)) for a, b in pairs]

    def loss(self, net: Any, batch: Batch) -> Tensor:
        found: Tensor = ((net(batch.inputs["x"]) - batch.inputs["y"]) ** 2).sum()
        return found


def weights(net: Net) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in net.state_dict().items()}


def trained(how: Recipe, objective: Squares | None = None, **more: Any) -> tuple[Net, Any]:
    net = Net()
    found = train(net, dict(net.line.named_parameters()), objective or Squares(), how, seed=7, **more)
    return net, found


def equal(one: Net, other: Net) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one).values(), weights(other).values(), strict=True))


def test_only_the_parameters_that_are_named_change_and_the_loss_goes_down():
    before, (after, found) = Net(), trained(Recipe(steps=60, lr=0.1))
    assert not torch.equal(before.line.weight, after.line.weight)
    assert torch.equal(before.other.weight, after.other.weight)
    assert found.losses[-1][1] < found.losses[0][1] / 10
    assert (found.steps, found.parameters, found.tokens) == (60, 4, 60 * 24)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in after.parameters())
    assert not after.training


def test_the_seed_alone_decides_and_the_random_state_outside_is_left_as_it_was():
    first, second = Net(), Net()
    torch.manual_seed(3)
    expected = torch.rand(1)
    for net in (first, second):
        torch.manual_seed(3)
        train(net, dict(net.line.named_parameters()), Squares(), Recipe(steps=10, lr=0.1), seed=7)
        assert torch.equal(torch.rand(1), expected)
    assert equal(first, second)


def test_parts_of_a_step_give_what_the_whole_gives():
    whole, _ = trained(Recipe(steps=20, lr=0.1), Squares(1))
    parts, _ = trained(Recipe(steps=20, lr=0.1), Squares(1))
    assert equal(whole, parts)
    net, other = Net(), Net()
    net.drop.p = other.drop.p = 0.0  # which is drawn once for a whole, and again for each part
    for of, count in ((net, 1), (other, 4)):
        train(of, dict(of.line.named_parameters()), Squares(count), Recipe(steps=20, lr=0.1), seed=7)
    assert torch.allclose(net.line.weight, other.line.weight, atol=1e-6)


@pytest.mark.parametrize("ended", [1, 17, 29])
def test_a_training_that_was_killed_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch, ended: int):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 0)
    how = Recipe(steps=30, lr=0.1, patience=4, every=3, warmup=0.2, schedule="cosine")
    dev = [*Squares().parts(1000)]
    whole, expected = trained(how, dev=dev)

    def kill(step: int, share: float, loss: float) -> None:
        if step == ended + 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(how, dev=dev, watch=Watch(keep=tmp_path, note=kill))
    assert len(list(tmp_path.glob("step-*"))) == min(2, ended)
    objective = Squares()
    resumed, found = trained(how, objective, dev=dev, watch=Watch(keep=tmp_path))
    assert objective.asked[0] == ended
    assert equal(whole, resumed)
    assert found == expected


def test_a_damaged_checkpoint_is_passed_over_and_one_of_another_recipe_is_not_read(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 0)
    trained(Recipe(steps=10, lr=0.1), watch=Watch(keep=tmp_path))
    newest = max(tmp_path.glob("step-*"))
    newest.write_bytes(newest.read_bytes()[:100])
    objective = Squares()
    trained(Recipe(steps=10, lr=0.1), objective, watch=Watch(keep=tmp_path))
    assert objective.asked[0] == 9
    objective = Squares()
    trained(Recipe(steps=10, lr=0.2), objective, watch=Watch(keep=tmp_path))
    assert objective.asked[0] == 0


def test_a_folder_that_can_not_be_written_does_not_stop_training(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    (tmp_path / "file").write_text("no folder")
    _, found = trained(Recipe(steps=3, lr=0.1), watch=Watch(keep=tmp_path / "file" / "below"))
    assert found.steps == 3


def test_early_stopping_keeps_the_best_weights():
    dev = [*Squares().parts(1000)]
    how = Recipe(steps=400, lr=0.1, patience=2, every=5, schedule="constant")
    net, found = trained(how, dev=dev)
    assert found.steps < 400
    best = min(loss for _, loss in found.validation)
    net.eval()
    with torch.no_grad():
        assert Squares().loss(net, dev[0]).item() / dev[0].targets == pytest.approx(best, rel=1e-5)
    assert found.validation[-3][1] == best


def test_a_loss_that_is_not_finite_stops_training_and_names_the_step():
    with pytest.raises(ModelError) as caught:
        trained(Recipe(steps=10), Squares(broken=4))
    assert (caught.value.note.code, dict(caught.value.note.values)["step"]) == ("loss-not-finite", 4)


@pytest.mark.parametrize(
    ("budget", "steps"), [({"steps": 7}, 7), ({"epochs": 2}, 10), ({"tokens": 100}, 5), ({"tokens": 96}, 4), ({}, 100)]
)
def test_the_budget_is_in_steps_epochs_or_tokens(budget: dict[str, Any], steps: int):
    _, found = trained(Recipe(**budget, lr=0.01))
    assert found.steps == steps


def test_weights_are_looked_at_before_the_step_and_at_the_end():
    seen: list[int] = []
    trained(Recipe(steps=6, lr=0.1), watch=Watch(looks=frozenset({0, 3, 6, 9}), look=seen.append))
    assert seen == [0, 3, 6]


def test_a_long_curve_is_thinned_out():
    _, found = trained(Recipe(steps=1700, lr=0.01))
    assert 200 < len(found.losses) <= 401
    assert {b - a for (a, _), (b, _) in zip(found.losses, found.losses[1:-1], strict=False)} == {8}
    assert found.losses[-1][0] == 1699  # the last one is always there


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"lr": 0}, "number-expected"),
        ({"lr": "fast"}, "number-expected"),
        ({"what": "lorra"}, "name-unknown"),
        ({"batch": 0}, "whole-number-expected"),
        ({"steps": 3, "epochs": 2}, "budgets-several"),
        ({"recompute": "no"}, "true-or-false-expected"),
    ],
)
def test_recipes_that_can_not_be_meant_are_refused(options: dict[str, Any], code: str):
    with pytest.raises(UsageError) as caught:
        Recipe(**options)
    assert caught.value.note.code == code


def test_a_gradient_that_is_not_finite_stops_training_even_in_the_last_step():
    class Broken(Squares):
        def loss(self, net: Any, batch: Batch) -> Tensor:
            found = super().loss(net, batch)
            return found + 0 * torch.sqrt(net.line.weight.sum() * 0)  # finite, with a gradient that is not

    for clip in (1.0, 0.0):
        with pytest.raises(ModelError) as caught:
            trained(Recipe(steps=1, clip=clip), Broken())
        assert caught.value.note.code == "gradient-not-finite"


def test_the_last_look_is_at_the_last_weights_not_at_the_best():
    dev, seen = [*Squares().parts(1000)], dict[int, Tensor]()
    how = Recipe(steps=400, lr=0.1, patience=2, every=5, schedule="constant")
    _, first = trained(how, dev=dev)
    net = Net()
    watch = Watch(looks=frozenset({first.steps}), look=lambda step: seen.update({step: net.line.weight.clone()}))
    train(net, dict(net.line.named_parameters()), Squares(), how, seed=7, dev=dev, watch=watch)
    assert not torch.equal(seen[first.steps], net.line.weight)


def test_a_trial_makes_no_more_steps_than_the_budget_nor_than_its_limit():
    assert trained(Recipe(epochs=1, lr=0.1), watch=Watch(limit=3))[1].steps == 3
    assert trained(Recipe(epochs=1, lr=0.1), watch=Watch(limit=9))[1].steps == 5


def test_checkpoints_that_could_not_be_written_are_counted_and_leftovers_removed(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS", 0.0)
    (tmp_path / "file").write_text("no folder")
    _, found = trained(Recipe(steps=3, lr=0.1), watch=Watch(keep=tmp_path / "file" / "below"))
    assert found.counts["checkpoint-unwritten"] >= 1
    place = new_owner().rsplit("-", 2)[0]
    gone, elsewhere = (tmp_path / f".{where}-99999999-abcdefgh.safetensors" for where in (place, "elsewhere-1"))
    for left in (gone, elsewhere):
        left.write_bytes(b"half")
    trained(Recipe(steps=1, lr=0.1), watch=Watch(keep=tmp_path))
    assert (gone.exists(), elsewhere.exists()) == (False, True)


def test_threads_can_be_given_and_are_given_back():
    before = torch.get_num_threads()
    assert trained(Recipe(steps=1), watch=Watch(threads=2))[1].threads == 2
    assert torch.get_num_threads() == before
