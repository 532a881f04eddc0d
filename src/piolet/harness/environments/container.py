"""A container of docker or podman as an environment: one that is there, or one that is run for the session."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Final

from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.shell import ShellEnvironment, last_lines

_NAME: Final = re.compile(r"[^-\s\0-\x1f][^\s\0-\x1f]*")
_READY: Final = b"ready"


class ContainerEnvironment(ShellEnvironment):
    """The running container `container`, or one of `image` that lives until `close`, or until this process is gone.

    A container of an image has the host's folder `cwd` in the same place, to work in and to write to; in a container
    that was there before, `cwd` is a folder of its own, by default the one where its commands begin. `engine` is the
    program with options of its own; by default docker if it answers, else podman. Raises ValueError for a name that the
    engine would take for an option.
    """

    kind = "container"

    def __init__(
        self,
        container: str | None = None,
        *,
        image: str | None = None,
        cwd: str | None = None,
        engine: Sequence[str] | None = None,
    ) -> None:
        name = container or image or ""
        if not _NAME.fullmatch(name) or (container and image):
            raise ValueError(f"{name!r} names no container: it begins with a letter or a digit, and holds no blanks")
        super().__init__((), cwd=cwd)
        self._container = container or f"piolet-{os.urandom(6).hex()}"
        self._image = image
        self._engine = tuple(engine or ())
        self._keeper: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        return f"docker:{self._image}" if self._image else f"container:{self._container}"

    async def connect(self) -> None:
        if not self._engine:
            self._engine = await asyncio.to_thread(answering_engine)
        if self._image is not None and self._keeper is None:
            await asyncio.to_thread(self._run_container, self._image)
        self.prefix = (*self._engine, "exec", "-i", self._container)
        await super().connect()

    async def close(self) -> None:
        """Remove the container if it was run for this environment."""
        await super().close()
        if self._keeper is not None:
            await asyncio.to_thread(self._end_container, self._keeper)
            self._keeper = None

    def _run_container(self, image: str) -> None:
        # Its only program ends with its standard input: no container outlives this process, however that ends.
        argv = [*self._engine, "run", "--rm", "-i", "--name", self._container, "--entrypoint", "sh"]
        if self.cwd:
            argv += ["--volume", f"{self.cwd}:{self.cwd}", "--workdir", self.cwd]
        argv += [image, "-c", f"echo {_READY.decode()}; cat >/dev/null; exit 0"]
        with tempfile.TemporaryFile() as errors:
            keeper = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
            assert keeper.stdout is not None
            if keeper.stdout.readline().strip() != _READY:
                keeper.communicate()
                errors.seek(0)
                raise Unreachable(self._explain(keeper.returncode, errors.read().decode(errors="replace")))
            self._keeper = keeper

    def _end_container(self, keeper: subprocess.Popen[bytes]) -> None:
        subprocess.run([*self._engine, "kill", self._container], capture_output=True, check=False)
        keeper.communicate()

    def _explain(self, code: int | None, text: str) -> str:
        if "executable file" in text:
            return super()._explain(code, text)
        return f"{self.name} cannot be used: {last_lines(text) or f'{self._engine[0]} ended with code {code}'}"


def answering_engine() -> tuple[str, ...]:
    """Return docker if it is installed and its daemon answers, else podman. Raises `Unreachable`."""
    reasons = []
    for program in ("docker", "podman"):
        try:
            done = subprocess.run([program, "version"], capture_output=True, check=False, timeout=30)
        except FileNotFoundError:
            reasons.append(f"{program} is not installed")
            continue
        except subprocess.TimeoutExpired:
            reasons.append(f"{program} does not answer")
            continue
        if done.returncode == 0:
            return (program,)
        reasons.append(f"{program}: {last_lines(done.stderr.decode(errors='replace'))}")
    raise Unreachable(f"No container can be used: {'; '.join(reasons)}")
