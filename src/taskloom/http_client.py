"""Requests over HTTP that end in time: the limit is for a whole request, however slowly a reply drips in."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, LifoQueue
from typing import Any

import httpx2 as httpx

from .errors import UsageError
from .masking import masked
from .messages import Note
from .retries import LARGEST, limited

OPENED = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")  # events with a new stream


class HttpClient:
    """Sends requests over connections that are kept open; threads may share it."""

    def __init__(self, timeout: float, headers: Mapping[str, str] | None = None) -> None:
        self.timeout, self.headers = timeout, httpx.Headers(headers)  # whose repr hides a key
        self.free: LifoQueue[_Connection] = LifoQueue()
        self.trusted = httpx.create_ssl_context()  # once, for it takes a while to read
        check_proxies()

    def post(self, url: str, *, most: int = LARGEST, **request: Any) -> tuple[httpx.Response, bytes]:
        """Send a request, and give the reply with its content, which may have so many bytes at most."""
        try:
            connection = self.free.get_nowait()
        except Empty:
            connection = _Connection(self.timeout, self.headers, self.trusted)
        try:
            return connection.post(url, most, request)
        finally:
            self.free.put(connection)

    def close(self) -> None:
        """Close what is open."""
        with suppress(Empty):
            while True:
                self.free.get_nowait().client.close()


def check_proxies() -> None:
    """Refuse proxies of the environment that no client of HTTP can use: each would say so in its own way."""
    try:
        httpx.Client(verify=False).close()  # nothing is sent; certificates take a while to read
    except httpx.InvalidURL:  # which quotes what may be a password
        raise UsageError(Note.of("proxy-unusable", reason="not an address")) from None
    except (ValueError, ImportError) as error:
        raise UsageError(Note.of("proxy-unusable", reason=masked(str(error)))) from None


class _Connection:
    """One connection, of which the stream is known that it reads from now."""

    def __init__(self, timeout: float, headers: httpx.Headers, trusted: ssl.SSLContext) -> None:
        one = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        self.client = httpx.Client(timeout=timeout, headers=headers, verify=trusted, limits=one)
        self.timeout, self.late = timeout, threading.Event()
        self.stream: Any = None  # of the library below httpx, which tells of it in events

    def post(self, url: str, most: int, request: Mapping[str, Any]) -> tuple[httpx.Response, bytes]:
        self.late.clear()
        timer = threading.Timer(self.timeout, self._hang_up)
        timer.daemon = True
        timer.start()
        try:
            with self.client.stream("POST", url, extensions={"trace": self._trace}, **request) as given:
                content = limited(given, most)
        except httpx.HTTPError:
            self._refuse_late()
            raise
        finally:
            timer.cancel()
        self._refuse_late()  # a reply of unknown length seems to end where it was cut
        return given, content

    def _trace(self, event: str, about: Mapping[str, Any]) -> None:
        """Note the stream of a new connection."""
        if event.endswith(OPENED):
            self.stream = about["return_value"]
            if self.late.is_set():
                self._hang_up()

    def _hang_up(self) -> None:
        """End what is read from or written to; httpx only limits the time between two bytes."""
        self.late.set()
        opened = self.stream.get_extra_info("socket") if self.stream is not None else None
        if opened is not None:
            with suppress(OSError):  # closed already
                socket.socket.shutdown(opened, socket.SHUT_RDWR)

    def _refuse_late(self) -> None:
        if self.late.is_set():
            raise httpx.ReadTimeout(f"no whole reply within {self.timeout:g} s") from None
