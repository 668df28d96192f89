"""Fetch one file of a release, in a child process: `python -P fetch.py`, which imports nothing of taskloom.

PyPI files come through pip's own machinery, so with the index, certificates, proxy and credentials that pip is
configured with; npm files through `npm pack`. Nothing of a package is built or run. pip takes over logging and
npm prints, hence the process of its own; it reports in JSON lines on standard output.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

BLOCK = 1 << 20
FORMATS = ["--no-binary", ":none:", "--only-binary", ":none:"]  # whatever pip is configured to prefer


class RefusedError(Exception):
    """The file is unavailable; says why."""


def report(**event: object) -> None:
    """Tell the parent."""
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


class _Unreachable(logging.Handler):
    """Collects what pip only logs: that an index could not be reached."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.reasons: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if "Could not fetch URL" in message and "404 Client Error" not in message:
            self.reasons.append(
                re.split(r"HTTPS?ConnectionPool|\(Caused by", message.partition(": ")[2])[0].strip(" :")[:200]
            )


def fetch_pypi(package: str, version: str, file: str, sha256: str, dest: Path) -> None:
    """Download one exact file of a PyPI release; where no file is named, its wheel, else its source archive."""
    from pip._internal.commands import create_command

    command = create_command("download")
    options, _ = command.parse_args(["--quiet", "--no-input", "--retries", "2", *FORMATS, package])
    unreachable = _Unreachable()
    with command.main_context():
        session = command.get_default_session(options)  # type: ignore[attr-defined]
        finder = command._build_package_finder(options, session, ignore_requires_python=True)  # type: ignore[attr-defined]
        collector = logging.getLogger("pip._internal.index.collector")
        collector.addHandler(unreachable)
        collector.setLevel(logging.DEBUG)
        candidates = finder.find_all_candidates(package)
        links = {candidate.link.filename: candidate.link for candidate in candidates}
        if not file:
            of_version = [c.link.filename for c in candidates if str(c.version) == version]
            file = min(of_version, key=lambda name: (not name.endswith("-any.whl"), name), default=f"version {version}")
        if file not in links:
            if unreachable.reasons and not links:
                raise RefusedError(f"the package index is unreachable: {unreachable.reasons[0]}")
            others = ", ".join(sorted(links)[-5:]) or "nothing"
            raise RefusedError(f"the package index has no {file}, only {others}")
        link = links[file]
        if sha256 and link.hash_name == "sha256" and link.hash != sha256:  # before a large file is read in vain
            raise RefusedError(f"the package index announces SHA-256 {link.hash} instead of {sha256}")
        headers = {"Accept-Encoding": "identity"}
        with session.get(link.url_without_fragment, stream=True, headers=headers) as reply, dest.open("wb") as out:
            reply.raise_for_status()
            total = int(reply.headers.get("Content-Length") or 0)
            done = 0
            for block in iter(lambda: reply.raw.read(BLOCK), b""):
                out.write(block)
                done += len(block)
                report(done=done, total=total)
        if link.hash_name:
            refuse_other_than_announced(dest, link.hash_name, link.hash)


def refuse_other_than_announced(file: Path, kind: str, announced: str) -> None:
    """Refuse a file whose hash is not the one that the index announces."""
    with file.open("rb") as handle:
        found = hashlib.file_digest(handle, kind).hexdigest()
    if found != announced.lower():
        raise RefusedError(
            f"the download has {kind.upper()} {found}, but the package index announces {announced}; discarded"
        )


def fetch_npm(package: str, version: str, file: str, sha256: str, dest: Path) -> None:  # noqa: ARG001 (one signature)
    """Download one exact npm release; none of its scripts are run."""
    call = ["npm", "pack", "--ignore-scripts", "--loglevel=error", f"{package}@{version}"]
    try:
        done = subprocess.run(call, cwd=dest.parent, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RefusedError("npm is needed for this package, and is not installed") from None
    packed = dest.parent / file
    if done.returncode or not packed.is_file():
        reason = (done.stderr or done.stdout).strip().splitlines()
        raise RefusedError(f"npm could not fetch {package}@{version}: {reason[0] if reason else 'no reason given'}")
    packed.replace(dest)


CARRIERS: Mapping[str, Callable[[str, str, str, str, Path], None]] = {"pypi": fetch_pypi, "npm": fetch_npm}


def sha256_of(path: Path) -> str:
    """Hash a file without reading it all at once."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def main(carrier: str, package: str, version: str, file: str, sha256: str, dest: str) -> None:
    """Fetch, check the hash of what came, and report."""
    try:
        CARRIERS[carrier](package, version, file, sha256, Path(dest))
        if (found := sha256_of(Path(dest))) != (sha256 or found):
            raise RefusedError(f"the download has SHA-256 {found} instead of {sha256}; discarded")
        report(finished=found)
    except RefusedError as error:
        report(refused=str(error))
    except Exception as error:  # whatever pip raises (it has no public errors) is kept as the reason
        report(refused=f"{type(error).__name__}: {str(error)[:300]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
