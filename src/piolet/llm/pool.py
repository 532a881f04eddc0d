"""HTTP clients, kept and shared: one per event loop and proxy, over one TLS context per process.

httpx and ssl are imported at the first request. Source: providers, section 12.
"""

from __future__ import annotations

import asyncio
import functools
import os
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from piolet.base.collector import collector_paused
from piolet.llm.errors import RequestError

if TYPE_CHECKING:
    import ssl

    import httpx

CONNECT_SECONDS = 30.0
IDLE_SECONDS = 300.0
KEEP_ALIVE_SECONDS = 30.0


class HttpPool:
    """Keeps HTTP clients open between requests. `proxy` goes before the proxies that the environment names."""

    def __init__(self, proxy: str | None = None) -> None:
        self._proxy = proxy
        self._clients: dict[tuple[asyncio.AbstractEventLoop, str, str | None], httpx.AsyncClient] = {}

    async def client(self, url: str, env: Mapping[str, str]) -> httpx.AsyncClient:
        """Return the running loop's client for `url`; `env` (of a provider) goes before the process environment."""
        loop = asyncio.get_running_loop()
        for key in [key for key in self._clients if key[0].is_closed()]:
            del self._clients[key]
        scheme = urlsplit(url).scheme
        proxy = self.proxy_for(url, env)
        key = (loop, scheme, proxy)
        if key not in self._clients:
            context = await asyncio.to_thread(context_for, scheme, proxy)
            self._clients.setdefault(key, _new_client(context, proxy))
        return self._clients[key]

    def proxy_for(self, url: str, env: Mapping[str, str]) -> str | None:
        """Return the address of the proxy that requests to `url` go through, None without one."""
        return self._proxy or environment_proxy(url, {**os.environ, **env})

    async def aclose(self) -> None:
        """Close the clients of the running loop. Later requests open new ones."""
        loop = asyncio.get_running_loop()
        for key in [key for key in self._clients if key[0] is loop]:
            await self._clients.pop(key).aclose()


def environment_proxy(url: str, env: Mapping[str, str]) -> str | None:
    """Return the proxy that HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY (either case) name for `url`."""

    def variable(name: str) -> str:
        return env.get(name.lower()) or env.get(name) or ""

    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    for entry in variable("NO_PROXY").replace(",", " ").split():
        name, _, port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
        name = name.lower().strip("[]").removeprefix("*").lstrip(".")
        port_fits = not port or port == str(parts.port or {"http": 80, "https": 443}.get(parts.scheme))
        if port_fits and (not name or host == name or host.endswith(f".{name}")):
            return None
    proxy = variable(f"{parts.scheme.upper()}_PROXY") or variable("ALL_PROXY")
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _new_client(context: ssl.SSLContext, proxy: str | None) -> httpx.AsyncClient:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=KEEP_ALIVE_SECONDS)
    try:
        return httpx.AsyncClient(
            verify=context,
            proxy=httpx.Proxy(proxy, ssl_context=context if proxy.startswith("https:") else None) if proxy else None,
            trust_env=False,
            limits=limits,
            timeout=httpx.Timeout(IDLE_SECONDS, connect=CONNECT_SECONDS, pool=None),
        )
    except ImportError as error:
        raise RequestError("A SOCKS proxy needs the extra of that name: pip install 'piolet[socks]'") from error
    except ValueError as error:
        raise RequestError(f"The proxy address is not usable: {error}") from error


def context_for(scheme: str, proxy: str | None) -> ssl.SSLContext:
    """Return the TLS context of a client for addresses of `scheme`. The first call takes long: make it in a thread."""
    import ssl

    _import_httpx()  # the first import takes long: it belongs into this thread
    if scheme == "https" or (proxy or "").startswith("https:"):
        with _tls_lock:
            return tls_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used: loading the authorities would cost 0.2 s


def _import_httpx() -> None:
    """Import httpx without its command line, which it loads where click is installed, and rich and Pygments with it."""
    command_line = "httpx._main"
    with _import_lock:
        if "httpx" in sys.modules:
            return
        sys.modules[command_line] = None  # type: ignore[assignment]  # that is how an import is made to fail
        try:
            with collector_paused():
                import httpx  # noqa: F401
        finally:
            del sys.modules[command_line]


_import_lock = threading.Lock()
_tls_lock = threading.Lock()


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return the TLS context of the process.

    SSL_CERT_FILE and SSL_CERT_DIR name the authorities; otherwise the system's store, otherwise certifi's list.
    NODE_EXTRA_CA_CERTS adds a file to any of them.
    """
    import ssl

    file, folder, extra = (os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"))
    context: ssl.SSLContext
    try:
        if file or folder:
            context = ssl.create_default_context(cafile=file or None, capath=folder or None)
        else:
            context = _system_context()
        if extra:
            context.load_verify_locations(cafile=extra)
    except OSError as error:
        names = "SSL_CERT_FILE, SSL_CERT_DIR or NODE_EXTRA_CA_CERTS"
        raise RequestError(f"A certificate file that {names} names cannot be read: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


def _system_context() -> ssl.SSLContext:
    import ssl

    try:
        import truststore
    except ImportError:
        import certifi

        return ssl.create_default_context(cafile=certifi.where())
    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
