"""A Ray cluster: found, joined and checked before any work, and the nodes that it has."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..errors import ClusterError, UsageError
from ..messages import Note
from .environment import PACKAGES, environment
from .resources import Resources

RAY = "ray"
REACHED = 5.0  # seconds in which a cluster must take a connection
TLS = "RAY_USE_TLS"
SETTINGS, FRAME = 4, 9  # the type of that frame of HTTP/2, and the bytes of its head: length, type, flags and stream
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0])
TRIES = "RAY_gcs_server_port_wait_time_s"  # how often Ray asks, each time for 40 seconds
UNKNOWN = "AuthenticationError"  # what Ray says to a driver without the token
PROBED = 300.0  # seconds in which a node must say what runs there
VERSIONS = ("taskloom", "python", *PACKAGES)  # that must be the same everywhere, for results to be
Joined: TypeAlias = Literal["before", "now", "started"]  # the first is not ours to leave; the last is of this program
NAMES: Mapping[str, str] = {"CPU": "cpu", "GPU": "gpu", "memory": "memory"}  # Ray's name of a resource -> ours


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A machine of a cluster, and what it has in all."""

    id: str
    host: str
    has: Mapping[str, float]

    def __str__(self) -> str:
        """Write it for people."""
        of = Resources(cpu=max(0.01, self.has["cpu"]), gpu=self.has["gpu"], memory=int(self.has["memory"]))
        return f"{self.host} ({of})"


def address_of(on: str) -> str:
    """Read where a cluster is: nothing stands for one that is found here, or is started.

    >>> address_of("ray"), address_of("ray://10.0.0.1:6379")
    ('', '10.0.0.1:6379')
    """
    found = re.fullmatch(r"ray(?:://([\w.-]+:\d+))?", on, re.ASCII)
    if not found:
        raise UsageError(Note.of("cluster-address-expected", given=repr(on)))
    return found[1] or ""


def check_reachable(on: str) -> None:
    """Refuse, before anything is planned, what can't be a cluster: no Ray here, or no answer at the address."""
    address = address_of(on)
    if importlib.util.find_spec(RAY) is None:
        raise ClusterError(Note.of("ray-missing"))
    if address:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), REACHED) as there:
                answers = os.environ.get(TLS) == "1" or _speaks_http2(there)
        except (OSError, OverflowError, UnicodeError) as error:  # UnicodeError: a host that no name can be
            raise ClusterError(Note.of("cluster-missing", reason=error, address=address)) from None
        if not answers:
            raise ClusterError(Note.of("cluster-other", address=address))


def _speaks_http2(there: socket.socket) -> bool:
    """Greet as Ray would, which speaks HTTP/2: whoever does answers with its settings, and a web server with an error.

    Ray itself would ask for 40 seconds, and fill the terminal meanwhile.
    """
    there.sendall(PREFACE)
    until, found = time.monotonic() + REACHED, b""
    with suppress(ConnectionError, TimeoutError):
        while len(found) < FRAME and (left := until - time.monotonic()) > 0:
            there.settimeout(left)
            part = there.recv(FRAME - len(found))
            if not part:
                break
            found += part
    return len(found) == FRAME and found[3] == SETTINGS and found[5:] == bytes(4)


def join(on: str, workers: int) -> Joined:
    """Join a cluster, or start one on this machine where there is none."""
    check_reachable(on)
    import ray

    if ray.is_initialized():
        return "before"
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a run sends nothing about itself
    os.environ.setdefault("RAY_worker_niceness", "0")  # of what is started here: as workers without Ray have it
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with _own_signals(), _silent(), chdir(sys.prefix):  # Ray puts the working folder on the path of its workers
        try:
            if address := address_of(on):
                with _one_try():
                    ray.init(address=address, **quiet)
                return "now"
            with suppress(ConnectionError), _one_try():  # one that was killed is still named in a file of Ray's
                ray.init(address="auto", **quiet)
                return "now"
            ray.init(address="local", num_cpus=workers or None, include_dashboard=False, **quiet)
        except Exception as error:  # Ray raises many kinds, and a plain one where a busy machine starts it too slowly
            raise ClusterError(_why_not(error, address_of(on) or RAY)) from None
    return "started"


def _why_not(error: BaseException, address: str) -> Note:
    """Tell why a cluster can't be joined; Ray says in a text alone that it asks for a token."""
    if UNKNOWN in f"{error!r} {error.__cause__ or error.__context__!r}":
        return Note.of("cluster-token", address=address)
    return Note.of("cluster-missing", reason=" ".join(str(error).split()), address=address)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the handlers that are set: Ray sets one of its own when it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep what compiled code of Ray writes off the terminal: what went wrong is raised, too."""
    sys.stderr.flush()
    before = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 (as it is everywhere)
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def _one_try() -> Iterator[None]:
    """Have Ray ask once whether a cluster is at an address: where something else answers, it would ask 20 times."""
    before = os.environ.get(TRIES)
    os.environ.setdefault(TRIES, "1")
    try:
        yield
    finally:
        if before is None:
            del os.environ[TRIES]


def alive() -> dict[str, ClusterNode]:
    """List the nodes that are there now."""
    import ray

    found = {}
    for node in ray.nodes():  # type: ignore[no-untyped-call]
        if node["Alive"]:
            has = {ours: float(node["Resources"].get(name, 0.0)) for name, ours in NAMES.items()}
            found[node["NodeID"]] = ClusterNode(node["NodeID"], str(node["NodeManagerHostname"]), has)
    return found


def on_node(node: str) -> Any:
    """Say that something must run on a node, and on no other."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def refuse_unfit(
    nodes: Mapping[str, ClusterNode], wanted: Mapping[Resources, Sequence[str]], joined: Joined = "now"
) -> None:
    """Refuse a cluster whose nodes lack what learners and models declare, or run other versions; name all faults."""
    faults = [
        str(Note.of("resource-missing", names=names, wanted=str(takes), nodes=[str(node) for node in nodes.values()]))
        for takes, names in wanted.items()
        if not any(takes.fits(node.has) for node in nodes.values())
    ]
    able = [node for node in nodes.values() if any(takes.fits(node.has) for takes in wanted)]
    faults += _version_faults(able) if joined != "started" else ()  # that one has what runs here
    if faults:
        raise ClusterError(Note.of("cluster-unfit", count=len(faults)), faults)


def _version_faults(nodes: Iterable[ClusterNode]) -> Iterator[str]:
    """Ask each node what runs there, and tell where that differs from what runs here."""
    import ray

    from .cluster_worker import probe

    asked = {
        node.host: ray.remote(probe).options(num_cpus=0, scheduling_strategy=on_node(node.id)).remote()
        for node in nodes
    }
    for host, ref in asked.items():
        try:
            found = ray.get(ref, timeout=PROBED)
        except ray.exceptions.RayError as error:  # taskloom is not installed there, or the node is gone
            yield str(Note.of("node-unable", reason=last_line(error), node=host))
            continue
        if differ := differences(found):
            yield str(Note.of("versions-differ", versions=differ, node=host))


def differences(there: Mapping[str, str]) -> list[str]:
    """Tell which versions of a node are not those of this machine."""
    here = environment()
    return [
        f"{name} {there.get(name, 'none')} instead of {here.get(name, 'none')}"
        for name in VERSIONS
        if there.get(name) != here.get(name)
    ]


def last_line(error: BaseException) -> str:
    """Give what an error of Ray comes down to: it has the traces of both machines."""
    return (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
