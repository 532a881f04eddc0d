"""A login in a plain terminal: lines out, a line in. No screen is taken over."""

from __future__ import annotations

import asyncio
import os
import sys

from piolet.base.ansi import strip_escapes
from piolet.llm.credentials.errors import CredentialError
from piolet.llm.oauth.browser import may_open_url, open_url


class TerminalLogin:
    """Shows a login on standard error, so that standard output stays free. `browser`: whether pages may be opened."""

    def __init__(self, *, browser: bool = True) -> None:
        self.browser = browser

    def show_url(self, url: str) -> None:
        if not may_open_url(url):
            raise CredentialError(f"The login sends to an address that is not opened: {strip_escapes(url)!r}")
        opened = self.browser and open_url(url)
        self.progress(f"{'A page opens in the browser' if opened else 'Open this page'}:\n\n  {url}\n")

    def show_code(self, code: str, url: str) -> None:
        self.show_url(url)
        self.progress(f"Type this code there: {code}\n")

    def progress(self, text: str) -> None:
        print(strip_escapes(text), file=sys.stderr, flush=True)

    async def ask(self, question: str) -> str:
        """Return a line of standard input. No thread waits for it, so that it can be given up."""
        print(strip_escapes(question), file=sys.stderr, flush=True)
        descriptor = sys.stdin.fileno()
        text = b""
        while not text.endswith(b"\n"):
            await _readable(descriptor)
            piece = os.read(descriptor, 4096)
            if not piece:
                raise EOFError
            text += piece
        return text.decode("utf-8", "replace").strip()


async def _readable(descriptor: int) -> None:
    """Return when there is something to read; EOFError for a plain file or /dev/null, where nobody types."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except OSError:
        raise EOFError from None
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


def read_key(provider: str) -> str:
    """Return a key: typed unseen in a terminal, else the first line of standard input."""
    if sys.stdin.isatty():
        import getpass

        key = getpass.getpass(f"API key for {provider}: ").strip()
    else:
        key = sys.stdin.readline().strip()
    if not key:
        raise CredentialError("No key was given; nothing was stored.")
    return key
