"""The way to the API: credentials, one request, and the one place that tries again.

The SDK's own retries are off.  A request is repeated a few times where the fault may pass: no connection, a stream
that breaks off, 408, 409, 429, 5xx and their likes inside a stream.  The wait grows, is jittered, and is the server's
own where it asks for one.
"""

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from tracelens_tui.claude.faults import Fault, Passing
from tracelens_tui.claude.prices import Usage
from tracelens_tui.claude.redaction import Redactor
from tracelens_tui.claude.reply import OnText, Reply, read_reply
from tracelens_tui.errors import UserError
from tracelens_tui.perf.parse import as_float
from tracelens_tui.text import plain

API_KEY = "ANTHROPIC_API_KEY"
AUTH_TOKEN = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105 — the variable's name
BASE_URL = "ANTHROPIC_BASE_URL"
HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
NO_KEY = "none"  # what a gateway that keeps the key itself is sent

_PASSING_STATUS = frozenset({408, 409, 429})
_PASSING_TYPES = frozenset({"overloaded_error", "api_error", "rate_limit_error", "timeout_error"})
_WORDS = {
    401: "the API refused the key",
    403: "the key may not do this",
    404: "the API does not know the model or the address",
    413: "the request is too long",
    429: "the rate limit is reached",
    529: "the API is overloaded",
}
_REASON_LIMIT = 160


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and address; never printed or written."""

    api_key: str | None
    auth_token: str | None
    base_url: str | None
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return "Access(...)"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what; seconds."""

    connect_s: float = 10.0
    idle_s: float = 60.0  # without a byte
    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    longest_asked_s: float = 120.0  # a server that asks for more is not waited for


def access_from(environ: Mapping[str, str] = os.environ) -> Access:
    """Return the credentials in the environment; UserError where there are none."""
    key, token, url = (environ.get(name, "").strip() or None for name in (API_KEY, AUTH_TOKEN, BASE_URL))
    if url is not None and not _is_address(url):
        raise UserError(f"{BASE_URL} is no address: give one such as https://gateway.example.com")
    if key is None and token is None:
        if url is None:
            raise UserError(
                f"--analyst claude needs {API_KEY} in the environment, or a gateway in {BASE_URL}; "
                "--analyst rules needs neither"
            )
        key = NO_KEY
    headers = [line.partition(":")[2].strip() for line in environ.get(HEADERS, "").splitlines()]
    found = (key, token, urlsplit(url).password if url else None, *headers)
    return Access(key, token, url, tuple(one for one in found if one and one != NO_KEY))


def _is_address(url: str) -> bool:
    """True for what requests can be sent to."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


class Sender:
    """Sends the requests of one conversation; to be used within one event loop and closed at its end."""

    def __init__(self, access: Access, patience: Patience, count: Callable[[Usage], None]) -> None:
        from anthropic import AsyncAnthropic, Timeout

        self._client = AsyncAnthropic(
            api_key=access.api_key,
            auth_token=access.auth_token,
            base_url=access.base_url,
            max_retries=0,
            timeout=Timeout(patience.idle_s, connect=patience.connect_s),
        )
        self._patience = patience
        self._count = count
        self.redact = Redactor(access.secrets)
        self.retries = 0

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def send(self, request: Mapping[str, Any], on_text: OnText, on_retry: Callable[[str], None]) -> Reply:
        """Send a request and return the whole reply; raises Fault where it cannot be had."""
        for attempt in range(1, self._patience.attempts + 1):
            try:
                return await self._once(request, on_text)
            except Passing as trouble:
                reason = self.redact(str(trouble))
                if attempt == self._patience.attempts:
                    raise Fault(f"{reason} ({attempt} attempts)") from trouble
                wait_s = self._wait(attempt, trouble)
            self.retries += 1
            on_retry(reason)
            await asyncio.sleep(wait_s)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _wait(self, attempt: int, trouble: Passing) -> float:
        """How long to wait before the next attempt."""
        patience = self._patience
        if trouble.wait_s is not None and trouble.wait_s > patience.longest_asked_s:
            raise Fault(f"{self.redact(str(trouble))}, and asks to wait for longer than a triage can") from trouble
        grown = min(patience.longest_wait_s, patience.first_wait_s * 2 ** (attempt - 1))
        return max(trouble.wait_s or 0.0, grown * random.uniform(0.5, 1.0))  # noqa: S311 — jitter

    async def _once(self, request: Mapping[str, Any], on_text: OnText) -> Reply:
        """One attempt; what the server counted is counted even where the reply breaks off."""
        reply = Reply()
        try:
            await _translated(self._stream(request, reply, on_text))
        finally:
            if reply.counts:
                self._count(reply.usage)
        return reply

    async def _stream(self, request: Mapping[str, Any], reply: Reply, on_text: OnText) -> None:
        stream = await self._client.messages.create(**request, stream=True)
        async with stream:
            await read_reply(stream, reply, self.redact, on_text)


async def _translated(work: Awaitable[None]) -> None:
    """Await the work; faults of SDK and transport become Fault or Passing."""
    import anthropic
    import httpx2

    try:
        await work
    except anthropic.APIStatusError as error:
        _raise_status(error.status_code, error.type, error.api_message, _retry_after(error.response.headers))
    except anthropic.APITimeoutError as error:
        raise Passing("no bytes came for too long") from error
    except anthropic.APIConnectionError as error:
        raise Passing(f"the API cannot be reached{_told(error.__cause__)}") from error
    except httpx2.TimeoutException as error:
        raise Passing("no bytes came for too long") from error
    except httpx2.HTTPError as error:
        raise Passing(f"the connection broke off{_told(error)}") from error
    except (anthropic.AnthropicError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Passing(f"the answer cannot be understood ({type(error).__name__})") from error


def _raise_status(status: int, kind: str | None, message: str | None, wait_s: float | None) -> NoReturn:
    """Raise what a status of the server, or an error inside its stream, means."""
    inside = status < 400
    what = f"the API reported {kind or 'an error'} in the stream" if inside else f"status {status}"
    words = _WORDS.get(status)
    detail = f": {plain(message, _REASON_LIMIT)}" if message else ""
    reason = f"{words} ({what}{detail})" if words else f"{what}{detail}"
    if (kind in _PASSING_TYPES) if inside else (status in _PASSING_STATUS or status >= 500):
        raise Passing(reason if words or inside else f"the API failed ({reason})", wait_s)
    raise Fault(reason if words or inside else f"the API refused the request ({reason})")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that the server asks to wait; None where it does not say, or not as a number."""
    asked = as_float(headers.get("retry-after", ""))
    return None if asked is None else max(0.0, asked)


def _told(error: BaseException | None) -> str:
    text = plain(str(error), _REASON_LIMIT) if error is not None else ""
    return f" ({text})" if text else ""
