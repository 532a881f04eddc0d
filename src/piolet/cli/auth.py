"""``piolet auth``: log in and out, see where credentials come from, hand them to other programs.

Only ``print-api-key``, ``print-bearer-token`` and ``check --credentials`` show a secret.
Source: command line, section 9.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from piolet.app.options import RuntimeOptions, agent_dir
from piolet.app.settings import SettingsError
from piolet.app.settings_files import SettingsFiles
from piolet.base.ansi import strip_escapes
from piolet.base.ids import now_ms
from piolet.base.json import dumps
from piolet.cli.login_terminal import TerminalLogin, read_key
from piolet.llm.credentials.errors import CredentialError, MissingCredentials, NotLoggedIn, UnknownProvider
from piolet.llm.credentials.records import ApiKeyCredential, OAuthCredential
from piolet.llm.credentials.store import AuthFile
from piolet.llm.errors import LlmError
from piolet.llm.models import Models
from piolet.llm.patterns import Choice, resolve_choice
from piolet.modes.say import warn

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class _Usage(Exception):
    """The words cannot be understood."""


class _KeyWanted(Exception):
    """A key is to be stored. It is asked for outside of the event loop, where an interrupt ends the waiting."""

    def __init__(self, provider: str) -> None:
        super().__init__(provider)
        self.provider = provider


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Usage(message)


def main(argv: Sequence[str]) -> int:
    """Run ``auth ...``; return the exit code."""
    words = [word for word in argv[1:] if word != "--offline"]
    parser = _parser()
    if not words:
        parser.print_help()
        return 0
    try:
        options = parser.parse_args(words)
        try:
            return asyncio.run(_run(options))
        except _KeyWanted as wanted:
            store = AuthFile(agent_dir(os.environ) / "auth.json")
            store.set(wanted.provider, ApiKeyCredential(read_key(wanted.provider)))
            print(f"Stored the key for {wanted.provider}.")
            return 0
    except KeyboardInterrupt:
        print("\nAborted.", file=sys.stderr)
        return 130
    except _Usage as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2 if words[0] == "check" else 1
    except LlmError as error:
        print(f"Error: {strip_escapes(str(error))}", file=sys.stderr)
        return 1


async def _run(options: argparse.Namespace) -> int:
    """Run a command; with the extensions, which may know providers and logins, where it cannot go without them."""
    models = _open_models()
    if not _needs_extensions(models, options):
        return int(await options.run(models, options))
    from piolet.app.trust import TrustError
    from piolet.cli.extensions import with_extensions

    try:
        async with with_extensions(RuntimeOptions(offline=True)) as runtime:
            return int(await options.run(runtime.services.models, options))
    except (SettingsError, TrustError) as error:
        raise CredentialError(str(error)) from error


def _needs_extensions(models: Models, options: argparse.Namespace) -> bool:
    if options.run in (_logout, _status):
        return False
    if options.provider is None:
        return bool(options.model) and _choice(models, options).model is None
    if models.get_provider(options.provider) is None:
        return True
    if options.run is _login and options.api_key:
        return False
    by_login = options.run is _login or isinstance(models.credentials.get(options.provider), OAuthCredential)
    return by_login and models.login(options.provider) is None


def _parser() -> _Parser:
    parser = _Parser(prog="piolet auth", description="Credentials of model providers.", allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    login = commands.add_parser("login", help="sign in with an account, or store a key", allow_abbrev=False)
    login.add_argument("provider")
    login.add_argument("--api-key", action="store_true", help="store a key: asked for, or the first line of the input")
    login.add_argument("--no-browser", action="store_true", help="open no page; use a device code where there is one")
    login.set_defaults(run=_login)

    logout = commands.add_parser("logout", help="remove what is stored", allow_abbrev=False)
    logout.add_argument("provider")
    logout.set_defaults(run=_logout)

    commands.add_parser("status", help="where credentials come from").set_defaults(run=_status)

    check = commands.add_parser("check", help="print ready, not_ready or invalid; exit 0, 1 or 2", allow_abbrev=False)
    check.add_argument("--json", action="store_true", help="print a JSON object")
    check.add_argument("--credentials", action="store_true", help="print the credential too")
    check.add_argument("--no-refresh", action="store_true", help="do not renew a login")
    check.set_defaults(run=_check)

    key = commands.add_parser("print-api-key", help="print the key", allow_abbrev=False)
    key.set_defaults(run=_print_api_key)
    token = commands.add_parser("print-bearer-token", help="print the token of a login", allow_abbrev=False)
    token.add_argument("--min-expiry", metavar="TIME", help="how long it must live on, such as 30m or 1h")
    token.set_defaults(run=_print_bearer_token)
    for command in (check, key, token):
        command.add_argument("--provider", metavar="ID")
        command.add_argument("--model", metavar="PATTERN", help="the provider of this model")
    return parser


def _open_models() -> Models:
    folder = agent_dir(os.environ)
    settings = SettingsFiles(folder, Path.cwd(), project_trusted=False).settings
    models = Models.open(folder, proxy=settings.http_proxy)
    if models.error:
        warn(models.error)
    return models


# -------------------------------------------------------------------------------------------------- in, out, status


async def _login(models: Models, options: argparse.Namespace) -> int:
    provider = _known(models, options.provider)
    if options.api_key or models.login(provider) is None:
        raise _KeyWanted(provider)
    await models.log_in(provider, TerminalLogin(browser=not options.no_browser))
    print(f"Logged in to {provider}.")
    return 0


async def _logout(models: Models, options: argparse.Namespace) -> int:
    removed = models.credentials.remove(options.provider)
    said = "Removed the stored credentials" if removed else "There are no stored credentials"
    print(f"{said} for {options.provider}. Environment variables and models.json are as they were.")
    return 0


async def _status(models: Models, options: argparse.Namespace) -> int:
    rows = [("provider", "credentials", "from")]
    names = list(dict.fromkeys((*models.providers(), *models.credentials.providers())))
    for name in names:
        status = models.auth_status(name)
        if status.configured or status.source:
            rows.append((name, "ready" if status.configured else "not ready", status.source + _expiry(status.expires)))
    if len(rows) == 1:
        print("No credentials. Set a provider's API key variable, or run: piolet auth login PROVIDER")
        return 0
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print(strip_escapes("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()))
    return 0


# ------------------------------------------------------------------------------------------- for other programs


async def _check(models: Models, options: argparse.Namespace) -> int:
    provider, secret, kind = options.provider or options.model, "", ""
    try:
        provider = _named_provider(models, options)
        if models.get_provider(provider) is None:
            status, reason = "not_ready", "provider_not_found"
        else:
            secret, kind = await _secret(models, provider, renew=not options.no_refresh)
            status, reason = "ready", ""
    except _NoModel:
        status, reason = "invalid", "invalid_state"
    except MissingCredentials:
        status, reason = "not_ready", "credentials_not_configured"
    except CredentialError as error:
        status, reason = "not_ready", "credentials_not_usable"
        print(f"Error: {strip_escapes(str(error))}", file=sys.stderr)
    if options.json:
        answer = {"status": status, "provider": provider, "authType": kind, "reason": reason}
        answer["credentials"] = secret if options.credentials else ""
        print(dumps({name: value for name, value in answer.items() if value}))
    else:
        print(secret if options.credentials and secret else status)
    return {"ready": 0, "not_ready": 1, "invalid": 2}[status]


async def _print_api_key(models: Models, options: argparse.Namespace) -> int:
    provider = _named_provider(models, options)
    if models.is_using_oauth(provider):
        raise CredentialError(f'Provider "{provider}" is configured with a login, not an API key')
    print((await _secret(models, provider))[0])
    return 0


async def _print_bearer_token(models: Models, options: argparse.Namespace) -> int:
    provider = _named_provider(models, options)
    if not models.is_using_oauth(provider):
        if models.login(provider):
            raise NotLoggedIn(provider)
        raise CredentialError(f'Provider "{provider}" is not configured with a login')
    if options.min_expiry is None:
        print(await models.bearer_token(provider))
    else:
        print(await models.bearer_token(provider, left_ms=_duration_ms(options.min_expiry)))
    return 0


async def _secret(models: Models, provider: str, *, renew: bool = True) -> tuple[str, str]:
    """Return the key or token of a provider, and which of the two it is."""
    stored = models.credentials.get(provider)
    if isinstance(stored, OAuthCredential):
        if renew:
            return await models.bearer_token(provider), "oauth"
        if stored.expires_within(0):
            raise CredentialError(f'The login for "{provider}" has expired.')
        return stored.access, "oauth"
    key = models.api_key(provider)
    if key is None:
        raise MissingCredentials(provider)
    return key, "api_key"


class _NoModel(CredentialError):
    """The pattern names no model."""


def _named_provider(models: Models, options: argparse.Namespace) -> str:
    if options.provider:
        return str(options.provider)
    if not options.model:
        raise _Usage("give --provider ID or --model PATTERN")
    choice = _choice(models, options)
    if choice.model is None:
        raise _NoModel(choice.error.text if choice.error else "no model")
    return choice.model.provider


def _choice(models: Models, options: argparse.Namespace) -> Choice:
    return resolve_choice(options.model, models.get_all(), models.has_configured_auth)


def _expiry(expires: int | None) -> str:
    if expires is None:
        return ""
    return f", {'expires' if expires > now_ms() else 'expired'} {_local_time(expires)}"


def _known(models: Models, provider: str) -> str:
    if models.get_provider(provider) is None:
        raise UnknownProvider(provider, models.providers())
    return provider


def _duration_ms(text: str) -> int:
    match = re.fullmatch(r"(\d+)([smhd])", text)
    if match is None:
        raise _Usage("--min-expiry must be a time such as 30m or 1h")
    return int(match[1]) * _UNITS_MS[match[2]]


def _local_time(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "never"
