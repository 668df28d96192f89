"""Runs on a real Ray cluster: a head without cores and two nodes, each with a cache of its own, on this machine."""

from __future__ import annotations

import importlib.util
import logging
import os
import runpy
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from taskloom.errors import ClusterError, UsageError
from taskloom.models.vectors import merge
from taskloom.studies.api import LEDGER, Prepared, prepare
from taskloom.studies.api import run as run_study
from taskloom.studies.ledger import Ledger
from taskloom.studies.overrides import Overrides
from taskloom.studies.run import Done

if TYPE_CHECKING:
    from tests.conftest import Ran, Refused
    from tests.models.conftest import Server

HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'taskloom[ray]'")
pytestmark = pytest.mark.xdist_group("ray")  # two clusters at once would be too much for a small machine
KEY = "sk-secret-0123456789"
NODE_KEY = 'of-the-"nodes"-0123456789'
SETTINGS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 5,
    "health_check_timeout_ms": 60_000,  # a busy node is not dead; one that is refuses at once
}
ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",
    "RAY_agent_register_timeout_ms": "600000",
    "RAY_worker_register_timeout_seconds": "600",
}
ENCODER = """
def letters(texts):
    return [[text.count(letter) + 1.0 for letter in "aeiou"] for text in texts]
"""
STUDY = """
name: small
baselines: false
suite: suite
tasks: ["abstract->*"]
protocol: {seeds: 2, shots: [0, 1], query: 4}
models:
  taught: {train: "fake:pupil", tasks: ["title->*"], resources: {memory: 100MB}}
  again: {train: taught, tasks: ["title->category"]}
  letters: {load: "letters.py:letters"}
learners:
  majority: {}
  slow: {"slow.py:Slow": {seconds: SECONDS}}
  near: {prototype: {model: letters}, shots: [1], tasks: "abstract->category"}
  echo: {in-context: {model: "fake:echo"}}
  taught: {in-context: {model: taught}, shots: [0]}
  again: {in-context: {model: again}, shots: [0], resources: {memory: 100MB}}
"""
SHORT = """
name: short
baselines: false
suite: suite
tasks: [abstract->category]
protocol: {seeds: 8, shots: [1], query: 4}
learners:
  majority: {}
  slow: {"slow.py:Slow": {seconds: SECONDS}}
"""
SHIPPED = """
name: shipped
baselines: false
suite: suite
tasks: [abstract->category]
protocol: {seeds: 1, shots: [0, 1], query: 4}
learners:
  slow: {"slow.py:Slow": {seconds: SECONDS}}
  tiny: {in-context: {model: "path:model"}}
"""
WAIT = """
        from pathlib import Path
        while not Path({gate!r}).exists():
            time.sleep(0.05)
"""
PROGRAM = """
import sys
from taskloom.studies.api import prepare
from taskloom.studies.overrides import Overrides
if __name__ == "__main__":
    done, _ = prepare(sys.argv[1], sys.argv[2]).run(on=sys.argv[3])
    sys.exit(130 if done.interrupted else 0)
"""
Until = Callable[[Callable[[], bool]], None]


@dataclass
class Nodes:
    """A cluster, and the caches of its nodes."""

    cluster: Any
    caches: list[Path]
    nodes: list[Any]

    @property
    def on(self) -> str:
        return f"ray://{self.cluster.address}"

    def kill_one(self) -> None:
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)


def node_settings(session: Path, **environment: str) -> dict[str, Any]:
    """Give a node an id, and say which ports its agents have: a busy machine starts these later than Ray waits for."""
    id_ = secrets.token_hex(28)
    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("", 0))
        ports = {name: one.getsockname()[1] for name, one in zip(names, sockets, strict=True)}
    session.mkdir(parents=True, exist_ok=True)
    for name, port in ports.items():
        (session / f"{name}_{id_}").write_text(str(port))
    named = {"RAY_OVERRIDE_NODE_ID_FOR_TESTING": id_, **environment}
    return {"env_vars": named, "object_store_memory": 100 << 20, "include_dashboard": False, **ports}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Start a cluster, and join it once for all tests of this process."""
    session = Path("/tmp/ray") / f"session_taskloom_{os.getpid()}"  # names of sockets must be short
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        import ray
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 0, "session_name": session.name, "_system_config": SETTINGS, **node_settings(session)}
        made = Cluster(initialize_head=True, head_node_args=head)
        caches = [tmp_path_factory.mktemp(f"node{n}") for n in range(2)]
        each = [node_settings(session, TASKLOOM_CACHE=str(cache), NODE_TOKEN=NODE_KEY) for cache in caches]
        found = Nodes(made, caches, [made.add_node(num_cpus=1, wait=False, **settings) for settings in each])
        made.wait_for_nodes(timeout=120)
        ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
        yield found
        ray.shutdown()
        made.shutdown()
    shutil.rmtree(session, ignore_errors=True)


@pytest.fixture
def study(study: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a study beside its suite and its files; the driver has a cache of its own, too."""
    monkeypatch.setenv("TASKLOOM_CACHE", str(tmp_path / "cache"))

    def make(seconds: float = 0.0, text: str = STUDY) -> Path:
        path = study()  # with its learner and its suite
        (tmp_path / "letters.py").write_text(ENCODER)
        path.write_text(text.replace("SECONDS", str(seconds)))
        return path

    return make


def contents(folder: Path) -> list[tuple[str, str, bytes]]:
    with Ledger(folder / LEDGER) as ledger:
        return list(ledger.contents())


def states(folder: Path) -> list[str]:
    if not (folder / LEDGER).is_file():
        return []
    with Ledger(folder / LEDGER) as ledger:
        return list(ledger.states().values())


def actors(session: str = f"session_taskloom_{os.getpid()}") -> list[str]:
    """Find the actors of our cluster by the names of their processes, and of those that have started them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile
            if path.read_bytes().startswith(b"ray::Worker"):
                parent = path.with_name("stat").read_text().rpartition(")")[2].split()[1]
                by = Path("/proc", parent, "cmdline").read_bytes()
                found += [path.parent.name] if session.encode() in by else []
    return found


def on_cluster(study: Path, nodes: Nodes, name: str = "ray", **more: Any) -> tuple[Prepared, Done]:
    prepared = prepare(study, study.parent / name)
    return prepared, prepared.work(on=nodes.on, **more)


# --- what is the same ------------------------------------------------------------------------------------------------


@needs_ray
def test_a_cluster_gives_the_same_bytes_as_one_process(study: Callable[..., Path], nodes: Nodes):
    path = study(0.05)
    told: list[str] = []
    prepared, done = on_cluster(path, nodes, status=told.append)
    assert (done.ran, done.failed, done.skipped) == (len(prepared.plan.to_run), 0, 0)
    encoded = [cache for cache in nodes.caches if (cache / "vectors").is_dir()]
    assert sum(copied for cache in encoded for _, copied in merge(cache))  # nodes have vectors, and the driver none
    prepare(path, path.parent / "one").run()
    assert contents(path.parent / "ray") == contents(path.parent / "one")
    assert any(text.startswith("2 nodes, 2 actors, ") for text in told)
    assert not actors()
    for cache in nodes.caches:  # each node was sent what it needs, and has cleared up after the run
        kept = {file.name for file in (cache / "cluster" / "parcels").rglob("*") if file.is_file()}
        assert {"slow.py", "letters.py"} <= kept
        assert not list((cache / "cluster" / "runs").glob("*"))
    trained = [cell.id for cell in prepared.plan.to_run if cell.kind == "train"]
    assert {folder.name for folder in (path.parent / "ray" / "artifacts").iterdir()} == {*trained}
    assert on_cluster(path, nodes)[1].ran == 0


@needs_ray
def test_the_quickstart_gives_the_same_bytes_by_one_process_by_two_and_on_a_cluster(
    tmp_path: Path, nodes: Nodes, offline_cache: dict[str, str], monkeypatch: pytest.MonkeyPatch
):
    for name, value in offline_cache.items():
        monkeypatch.setenv(name, value)
    how: dict[str, Any] = {"overrides": Overrides(model="fake:echo"), "limit": 1}
    for crew in ({"workers": 1}, {"workers": 2}, {"on": nodes.on}):
        prepared = prepare("quickstart", tmp_path / "-".join(crew) / str(crew.get("workers", 0)), **how)
        done = prepared.work(**crew)
        assert (done.ran, done.failed, done.skipped) == (len(prepared.plan.to_run), 0, 0)
        assert {cell.task for cell in prepared.plan.to_run} == {"title->topic", "title->parity"}
    one, *others = [contents(path.parent) for path in sorted(tmp_path.glob(f"*/*/{LEDGER}"))]
    assert one
    assert others == [one, one]


@needs_ray
def test_weights_in_a_folder_are_sent_to_nodes_that_have_no_such_folder(study: Callable[..., Path], nodes: Nodes):
    from .test_tuning import write_model

    path = study(0.5, SHIPPED)
    folder, away = path.with_name("model"), path.with_name("away")
    write_model(folder)

    def gone(status: str) -> None:
        if "1 actor" in status and folder.exists():  # it has what it needs, and has opened no model yet
            folder.rename(away)

    prepared, done = on_cluster(path, nodes, workers=1, status=gone)
    assert (done.ran, done.failed) == (len(prepared.plan.to_run), 0)
    away.rename(folder)
    prepare(path, path.parent / "one").run()
    assert contents(path.parent / "ray") == contents(path.parent / "one")


# --- endpoints -------------------------------------------------------------------------------------------------------

ASKING = """
name: small
baselines: false
suite: suite
tasks: [abstract->category]
protocol: {seeds: 4, shots: [1], query: 3}
models: {remote: {load: "api:tiny@URL", concurrency: 2, tries: 2, backoff: 0.01, token_budget: BUDGET}}
learners:
  written: {in-context: {model: remote, answers: generate, tokens: 8}}
  majority: {}
"""


@pytest.fixture
def endpoint() -> Iterator[Server]:
    path = Path(__file__).parents[1] / "models" / "conftest.py"
    server = runpy.run_path(str(path))["Server"](0)
    yield server
    server.close()


@needs_ray
@pytest.mark.parametrize("budget", [1_000_000, 5000])
def test_endpoints_are_asked_beside_the_driver_under_one_budget_and_ray_never_sees_the_key(
    study: Callable[..., Path], nodes: Nodes, endpoint: Server, monkeypatch: pytest.MonkeyPatch, budget: int
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    text = ASKING.replace("URL", endpoint.url).replace("BUDGET", str(budget))
    path = study(text=text if budget > 10_000 else text.replace("majority: {}", ""))  # no actor is needed then
    done = on_cluster(path, nodes)[1]
    if budget < 10_000:
        assert [note.code for note in done.waiting.values()] == ["token-budget-spent"]
    else:
        assert (done.ran, done.failed) == (8, 0)
        prepare(path, path.parent / "two").run(workers=2)
        assert contents(path.parent / "ray") == contents(path.parent / "two")
    assert endpoint.most_under_way <= 2
    logs = Path(nodes.cluster.head_node.get_logs_dir_path())
    assert any(logs.iterdir())
    assert not [file for file in logs.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


TELLING = """
name: telling
baselines: false
suite: suite
tasks: [abstract->category]
protocol: {seeds: 1, shots: [1], query: 4}
learners:
  raises: {"telling.py:Telling": {raises: true}}
  answers: {"telling.py:Telling": {}}
"""
TELLER = """
import os
from dataclasses import dataclass
from typing import ClassVar
from taskloom import Learner

@dataclass(frozen=True)
class Telling(Learner):
    raises: bool = False
    version: ClassVar[int] = 1
    outputs: ClassVar[frozenset] = frozenset({"labels", "text"})
    unaided: ClassVar[frozenset] = frozenset({"labels", "text"})

    def fit(self, task, support, dev, *, seed, tools):
        if self.raises:
            raise ValueError(os.environ["NODE_TOKEN"])
        return self

    def predict(self, items):
        return [f"x {os.environ['NODE_TOKEN']}" for _ in items]
"""


@needs_ray
def test_keys_that_only_nodes_have_are_masked_in_faults_and_answers(study: Callable[..., Path], nodes: Nodes):
    assert "NODE_TOKEN" not in os.environ
    path = study(text=TELLING)
    path.with_name("telling.py").write_text(TELLER)
    prepared, done = on_cluster(path, nodes)
    assert (done.ran, done.failed) == (2, 1)
    with Ledger(prepared.folder / LEDGER) as ledger:
        ((_, trace),) = ledger.ended("failed").values()
        (body,) = [ledger.result(cell) or {} for cell, state in ledger.states().items() if state == "done"]
    assert trace.endswith("ValueError: (key)\n")
    assert body["sets"]["query"]["answers"] == ["x (key)"] * 4


# --- what is lost ----------------------------------------------------------------------------------------------------


def _has_done(run: Path, least: int, child: subprocess.Popen[bytes]) -> bool:
    return states(run).count("done") >= least or child.poll() is not None


@needs_ray
def test_a_driver_that_is_killed_or_interrupted_leaves_no_actors_and_goes_on_where_it_was(
    study: Callable[..., Path], nodes: Nodes, until: Until
):
    path = study(0.3, SHORT)
    run, program = path.parent / "ray", path.parent / "program.py"
    program.write_text(PROGRAM)
    finished = 0
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        with subprocess.Popen([sys.executable, str(program), str(path), str(run), nodes.on]) as child:
            until(partial(_has_done, run, finished + 1, child))
            child.send_signal(number)
            assert child.wait(120) == code
        until(lambda: not actors())
        finished = states(run).count("done")
    assert finished >= 2
    assert {*states(run)} == {"done"}  # who is interrupted gives back what is not at hand
    prepared, done = on_cluster(path, nodes)
    assert done.ran == len(prepared.plan.to_run) - finished
    prepare(path, path.parent / "one").run()
    assert contents(run) == contents(path.parent / "one")


@needs_ray
def test_a_learner_that_raises_or_ends_its_worker_fails_its_cells_alone(study: Callable[..., Path], nodes: Nodes):
    path = study(text=SHORT.replace("seeds: 8", "seeds: 40"))  # short cells, of which a worker is given several
    slow = path.with_name("slow.py")
    ends = "__import__('os')._exit(9) if seed == 21 else exec('raise ValueError(42)') if seed == 2 else None"
    slow.write_text(slow.read_text().replace("time.sleep(self.seconds)", ends))
    _, done = on_cluster(path, nodes)
    with Ledger(path.parent / "ray" / LEDGER) as ledger:
        failed = {why.code: trace for why, trace in ledger.ended("failed").values()}
    assert (done.ran, done.failed) == (80, 2)
    assert {*failed} == {"actor-lost", "learner-raised"}
    assert failed["learner-raised"].strip().endswith("ValueError: 42")


@needs_ray
def test_the_cells_of_a_node_that_is_lost_are_run_by_others(study: Callable[..., Path], nodes: Nodes):
    path, told, killed = study(), list[str](), list[str]()
    gate = path.parent / "gate"  # where cells wait for the second actor, however late it is
    learner = (path.parent / "slow.py").read_text()
    (path.parent / "slow.py").write_text(learner.replace("time.sleep(self.seconds)", WAIT.format(gate=str(gate))))

    def status(text: str) -> None:
        told.append(text)
        if text.startswith("2 nodes, 2 actors") and not killed:
            killed.append(text)
            nodes.kill_one()
            gate.touch()

    prepared, done = on_cluster(path, nodes, status=status)
    assert killed
    assert (done.ran, done.failed) == (len(prepared.plan.to_run), 0)
    assert told[-1].startswith("1 node, 1 actor, ")
    prepare(path, path.parent / "one").run()
    assert contents(path.parent / "ray") == contents(path.parent / "one")


# --- what is refused -------------------------------------------------------------------------------------------------


@needs_ray
def test_a_cluster_that_can_not_run_a_study_is_refused_before_any_work(
    study: Callable[..., Path], nodes: Nodes, monkeypatch: pytest.MonkeyPatch
):
    path = study(
        text=STUDY.replace("memory: 100MB", "gpu: 1").replace("majority: {}", "majority: {resources: {cpu: 9}}")
    )
    monkeypatch.setattr("taskloom.studies.environment.__version__", "9.9")
    with pytest.raises(ClusterError) as error:
        on_cluster(path, nodes)
    assert error.value.note.code == "cluster-unfit"
    assert "no node has 1 CPU, 1 GPU, which taught, again needs; nodes: " in str(error.value)
    assert "no node has 9 CPU, which majority needs" in str(error.value)
    assert "taskloom 0.1.0 instead of 9.9" in str(error.value)
    assert not actors()
    assert not (path.parent / "ray").exists()


@needs_ray
def test_an_address_where_nobody_is_is_refused_before_any_plan(refused: Refused, taskloom: Callable[..., Ran]):
    with refused(ClusterError, "cluster-missing", address="127.0.0.1:9"):
        run_study("no such study", on="ray://127.0.0.1:9")
    ran = taskloom("run", "quickstart", "--on", "ray://127.0.0.1:9")
    assert ran.code == 1
    assert "no Ray cluster answers" in ran.err


@needs_ray
@pytest.mark.parametrize("host", ["a..b", ".", "n" * 300])
def test_a_host_that_no_name_can_be_is_refused(taskloom: Callable[..., Ran], host: str):
    ran = taskloom("run", "quickstart", "--on", f"ray://{host}:1")
    assert ran.code == 1
    assert "no Ray cluster answers" in ran.err


@needs_ray
@pytest.mark.parametrize("says", [b"HTTP/1.0 400 Bad Request\r\n\r\n", b"", b"\0\0\0\4"])
def test_what_is_no_cluster_is_refused_at_once_and_in_one_line(taskloom: Callable[..., Ran], says: bytes):
    with socket.create_server(("127.0.0.1", 0)) as server:
        on = f"ray://127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=_answering_once, args=(server, says), daemon=True).start()
        ran = taskloom("run", "quickstart", "--on", on)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        f"error: what answers is no Ray cluster; name the port that `ray start --head` prints: {on[6:]}"
    ]


def _answering_once(server: socket.socket, says: bytes) -> None:
    with server.accept()[0] as there:
        there.recv(100)
        there.sendall(says)


@needs_ray
def test_a_web_server_is_no_cluster(refused: Refused):
    with HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        with refused(ClusterError, "cluster-other", address=address):
            run_study("no such study", on=f"ray://{address}")


@needs_ray
def test_the_rate_counts_from_when_the_first_cell_was_given():
    from taskloom.studies.cluster import MOST_ENDS, RATE_OVER, rate_of

    assert rate_of([10.0, 10.0], begun=0.0, now=10.0) == 0.2  # and not two in no time
    assert rate_of([1.0, 95.0, 99.0], begun=0.0, now=100.0) == 2 / RATE_OVER
    many = [100.0 - n / 1000 for n in range(MOST_ENDS)][::-1]  # 1,000 a second, of which the last ten seconds are known
    assert rate_of(many, begun=0.0, now=100.0) == pytest.approx(1000, rel=1e-3)


@pytest.mark.parametrize("on", ["rai", "ray://", "ray://host", "ray://host:x", "slurm", "ray://user:key@host:1"])
def test_what_is_no_address_of_a_cluster_is_refused(refused: Refused, on: str):
    with refused(UsageError, "cluster-address-expected", given=repr(on)):
        run_study("no such study", on=on)


def test_without_ray_it_is_told_how_to_install_it(refused: Refused, monkeypatch: pytest.MonkeyPatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else found(name))
    with refused(ClusterError, "ray-missing"):
        run_study("no such study", on="ray")
