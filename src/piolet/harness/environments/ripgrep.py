"""Searching contents with ripgrep, where an environment has it. Gives what `search.grep` gives, sooner."""

from __future__ import annotations

import base64
import posixpath
from typing import Any, Final

import msgspec

from piolet.base.abort import AbortController, Aborted, AbortSignal
from piolet.harness.environments.base import Environment, GrepQuery, GrepResult, InvalidPattern
from piolet.harness.environments.patterns import parse, to_rust
from piolet.harness.environments.search import MAX_LINE, FileLine, GlobFilter, GrepCollector

#: Nothing of the user's or the machine's configuration counts, only the files that the specification names.
_OPTIONS: Final = (
    "--json",
    "--no-config",
    "--no-messages",
    "--no-ignore-global",
    "--no-ignore-exclude",
    "--hidden",
    "--sort=path",
    "--no-mmap",
    "--regex-size-limit=500M",
    "--dfa-size-limit=500M",
)

#: The exit code of a search that could not read everything.
_TROUBLE: Final = 2


async def grep_with_ripgrep(
    environment: Environment, program: str, query: GrepQuery, signal: AbortSignal | None = None
) -> GrepResult:
    """Search with `program`, the path of ripgrep in `environment`. Raises what `search.grep` raises."""
    pattern = to_rust(parse(query.pattern, ignore_case=query.ignore_case, literal=query.literal))
    info = await environment.stat(query.path)
    is_folder = info is not None and info.kind == "directory"
    argv = [program, *_OPTIONS, f"--max-count={query.limit + 1}", f"--context={query.context}"]
    if not is_folder:
        argv.append("--text")
    elif query.glob:
        GlobFilter(query.glob)  # refuses what is invalid
        argv.append(f"--glob={query.glob}")
    folder, name = (query.path, "") if is_folder else posixpath.split(query.path)
    reader = _Reader(GrepCollector(query), skip_binary=is_folder)
    stop = AbortController(signal)
    errors = bytearray()

    async def take(data: bytes, stream: str) -> None:
        if stream == "stderr":
            errors.extend(data[:4096])
        elif not reader.feed(data):
            stop.abort("enough")

    try:
        status = await environment.run(
            [*argv, f"--regexp={pattern}", "--", f"./{name}"], cwd=folder, signal=stop.signal, on_output=take
        )
    finally:
        stop.close()
    if signal is not None and signal.aborted:
        raise Aborted(signal.reason)
    if not reader.has_answer:  # a search that took place ends with a summary, whatever its exit code
        raise InvalidPattern(errors.decode(errors="replace").strip() or f"ripgrep failed with code {status.code}")
    if status.code == _TROUBLE:  # with a file on the way that may be; what was asked for must be readable
        await (environment.list_directory(query.path) if is_folder else environment.read_bytes(query.path, limit=1))
    return reader.collector.result()


class _Reader:
    """Reads ripgrep's JSON lines as they come."""

    def __init__(self, collector: GrepCollector, *, skip_binary: bool) -> None:
        self.collector = collector
        self.has_answer = False
        self._skip_binary = skip_binary
        self._rest = bytearray()
        self._lines: list[FileLine] = []
        self._decode = msgspec.json.Decoder().decode

    def feed(self, data: bytes) -> bool:
        """Take output; return False when no more is wanted."""
        self._rest += data
        end = self._rest.rfind(b"\n", len(self._rest) - len(data))
        if end < 0:
            return True
        self.has_answer = True
        whole = bytes(self._rest[:end])
        del self._rest[: end + 1]
        return all(self._event(self._decode(line)) for line in whole.split(b"\n"))

    def _event(self, event: Any) -> bool:
        data = event["data"]
        match event["type"]:
            case "begin":
                self._lines = []
            case "match" | "context":
                text = _text(data["lines"]).removesuffix("\n")[:MAX_LINE]
                self._lines.append(FileLine(data["line_number"], text, event["type"] == "match"))
            case "end":
                if not (self._skip_binary and data["binary_offset"] is not None):
                    return self.collector.add_file(_text(data["path"]).removeprefix("./"), self._lines)
        return True


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
