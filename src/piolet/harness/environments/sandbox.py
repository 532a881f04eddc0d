"""This machine behind bubblewrap as an environment: the project can be written, the rest is read-only or hidden.

File operations go through the sandbox too, so that a link cannot lead a tool out of it. What is hidden: the homes of
all users, ``/run`` with its sockets, other processes, what is in ``/tmp``, and variables whose names sound like
secrets. Instead there are an empty home and an empty ``/tmp``, which last as long as the environment.

There is one sandbox for all commands, so that one can talk to, or end, what another left in the background. A shell in
it starts further shells, whose pipes are named ones in a folder that both sides see.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final

from piolet.harness.environments.base import Unreachable
from piolet.harness.environments.far_scripts import LAUNCHER
from piolet.harness.environments.far_shell import FarShell
from piolet.harness.environments.processes import kill_group, live_groups, reap_killed
from piolet.harness.environments.repository import git_folder, guarded, repository_root, stand_ins
from piolet.harness.environments.shell import ShellEnvironment, last_lines

if TYPE_CHECKING:
    import subprocess

_SECRET: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPH|(?:^|_)PASS$|_PWD$|CREDENTIAL|COOKIE|_AUTH(?!OR)|_PAT$|_SOCK$|^DBUS_", re.IGNORECASE
)
#: In a value: an address with a password.
_WITH_PASSWORD: Final = re.compile(r"://[^/@\s]*:[^/\s]+@")
_UNSHARED: Final = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
#: Where the sandbox has the named pipes of its shells, and the program that starts a shell for each number it reads. If
#: this process is gone, it leaves nothing behind.
_PIPES: Final = "/dev/piolet"
_STARTER: Final = f'while read -r n; do sh -c "$0" <{_PIPES}/$n.0 >{_PIPES}/$n.1 2>{_PIPES}/$n.2 & done; kill -9 -1'


class SandboxEnvironment(ShellEnvironment):
    """The folder `cwd` and, if it belongs to a git repository, all of that can be written.

    `network`: whether there is one. `readable_home`: the user's own home is read-only instead of hidden. `hidden`:
    folders that are hidden in any case. Needs Linux and the program ``bwrap``. Raises ValueError if the project would
    be the whole home, or more.
    """

    kind = "sandbox"

    def __init__(
        self,
        cwd: str,
        *,
        network: bool = False,
        readable_home: bool = False,
        hidden: Sequence[str] = (),
        home: str | None = None,
    ) -> None:
        super().__init__(("bwrap",), cwd=os.path.realpath(cwd))
        self._home = os.path.realpath(home or os.path.expanduser("~"))
        if _is_around(self.cwd, self._home):
            raise ValueError(f"A sandbox is for a project, and {self.cwd} holds your home: start in a folder below it")
        root = repository_root(self.cwd)
        self._project = self.cwd if root is None or _is_around(root, self._home) else root
        self._git = git_folder(self._project)
        self._network = network
        self._readable_home = readable_home
        self._hidden = tuple(map(os.path.realpath, hidden))
        self._settings = [os.path.join(folder, ".pi") for folder in dict.fromkeys((self._project, self.cwd))]
        self._refuse_links()
        self._made = [folder for folder in self._settings if not os.path.isdir(folder)]
        self._own = tempfile.mkdtemp(prefix="piolet-sandbox-")
        for name in ("home", "tmp", "none", "pipes"):
            os.mkdir(os.path.join(self._own, name), 0o700)
        # Shared by all sandboxes over the project: what one has made is of use to the others.
        self._in_use = os.open(self._project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._in_use, fcntl.LOCK_SH)
        self._stands_in: list[str] = []  # files that were made so that none can be made from inside
        self._starter: subprocess.Popen[bytes] | None = None
        self._started_in: object = None
        self._numbers = count()

    @property
    def name(self) -> str:
        return "sandbox"

    async def close(self) -> None:
        """End everything in the sandbox, and remove its own home and ``/tmp``."""
        await super().close()
        self._end()
        await asyncio.to_thread(self._remove)

    def _remove(self) -> None:
        shutil.rmtree(self._own, ignore_errors=True)
        if self._in_use < 0:
            return
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(self._in_use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._remove_guards()
        os.close(self._in_use)
        self._in_use = -1

    def _remove_guards(self) -> None:
        for folder in self._made:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        for path in self._stands_in:
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _refuse_links(self) -> None:
        """Raise ValueError if what is to be kept from change is reached through a link: that can be led elsewhere."""
        guards = [] if self._git is None else [os.path.join(self._git, "hooks"), *guarded(self._project, self._git)]
        places = [*self._settings, os.path.join(self._project, ".git"), *guards]
        links = [place for place in places if os.path.islink(place)]
        for settings in self._settings:
            for folder, folders, files in os.walk(settings):
                for path in (os.path.join(folder, name) for name in (*folders, *files)):
                    target = os.path.realpath(path) if os.path.islink(path) else path
                    if _is_around(self._project, target) and not any(_is_around(s, target) for s in self._settings):
                        links.append(path)
        if links:
            raise ValueError(
                f"{links[0]} is a symbolic link, and what it leads to could be changed from inside of a sandbox: put "
                "that in its place"
            )

    # ------------------------------------------------------------------------------------------------------ shells

    def _start(self) -> FarShell:
        starter = self._running_starter()
        number = next(self._numbers)
        paths = [os.path.join(self._own, "pipes", f"{number}.{stream}") for stream in range(3)]
        for path in paths:
            os.mkfifo(path, 0o600)
        # Open for both directions, the first does not wait for the other side; nor do the others, which only read.
        modes = (os.O_RDWR, os.O_RDONLY | os.O_NONBLOCK, os.O_RDONLY | os.O_NONBLOCK)
        opened = [os.open(path, mode | os.O_CLOEXEC) for path, mode in zip(paths, modes, strict=True)]

        def end() -> None:
            for path in paths:
                os.unlink(path)

        assert starter.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it ended just now: the next shell is in another sandbox
            starter.stdin.write(f"{number}\n".encode())
        stdin, stdout, stderr = (
            open(descriptor, mode, buffering=0)  # noqa: SIM115
            for descriptor, mode in zip(opened, ("wb", "rb", "rb"), strict=True)
        )
        return FarShell(stdin, stdout, stderr, end, lambda: starter.poll() is None)

    def _running_starter(self) -> subprocess.Popen[bytes]:
        """Return the first process of the sandbox, which is made anew if it is gone, or over a folder that is gone."""
        import subprocess

        now = self._surroundings()
        if self._starter is not None and (self._starter.poll() is not None or now != self._started_in):
            self._end()
        if self._starter is None:
            self._make_guards()
            with tempfile.TemporaryFile() as errors:
                try:
                    starter = subprocess.Popen(
                        ["bwrap", *self._options(), "sh", "-c", f"echo; {_STARTER}", LAUNCHER],
                        cwd="/",
                        env=self._variables(),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=errors,
                        bufsize=0,
                        start_new_session=True,
                    )
                except FileNotFoundError:
                    raise Unreachable("bwrap (bubblewrap) is not installed, and a sandbox needs it") from None
                assert starter.stdout is not None
                begun = starter.stdout.read(1)
                starter.stdout.close()
                if not begun:
                    starter.communicate()
                    errors.seek(0)
                    reason = last_lines(errors.read().decode(errors="replace"))
                    raise Unreachable(f"The sandbox cannot be made: {reason}")
            live_groups.add(starter.pid)
            self._starter, self._started_in = starter, now
        return self._starter

    def _end(self) -> None:
        """Kill the first process of the sandbox: it takes all others with it."""
        if self._starter is not None:
            kill_group(self._starter.pid)
            live_groups.discard(self._starter.pid)
            reap_killed(self._starter)
            if self._starter.stdin is not None:
                self._starter.stdin.close()
            self._starter = None

    def _options(self) -> list[str]:
        options = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *_UNSHARED, "--cap-drop", "ALL"]
        if not self._network:
            options.append("--unshare-net")
        for folder in ("/home", "/root", "/run"):
            if os.path.isdir(folder) and not os.path.islink(folder):
                options += ["--tmpfs", folder]
        resolver = os.path.realpath("/etc/resolv.conf")
        if self._network and resolver.startswith("/run/"):
            options += ["--ro-bind", resolver, resolver]
        options += ["--bind", f"{self._own}/tmp", "/tmp"]
        # Pipes can be written where the folder cannot: else others could take their places, and be opened from here.
        options += ["--ro-bind", f"{self._own}/pipes", _PIPES]
        if self._home != "/" and os.path.isdir(self._home):
            shown_home = ("--ro-bind", self._home) if self._readable_home else ("--bind", f"{self._own}/home")
            options += [*shown_home, self._home]
        hidden = [folder for folder in self._hidden if os.path.isdir(folder)]
        options += [word for folder in hidden if _is_around(folder, self._project) for word in ("--tmpfs", folder)]
        # A mount point cannot be renamed: else another folder could take the place of one whose ``.pi`` is kept.
        for folder in folders_down(self._project, self.cwd):
            options += ["--bind-try", folder, folder]
        if self._git is not None:  # git runs what hooks and settings say, outside of the sandbox
            hooks = os.path.join(self._git, "hooks")
            options += ["--bind-try", self._git, self._git]
            options += [word for path in guarded(self._project, self._git) for word in ("--ro-bind-try", path, path)]
            if os.path.isdir(self._git):
                options += ["--ro-bind", hooks if os.path.isdir(hooks) else f"{self._own}/none", hooks]
        link = os.path.join(self._project, ".git")
        if os.path.isfile(link):  # of a linked worktree: it must not lead to hooks and settings of another folder
            options += ["--ro-bind", link, link]
        options += [word for folder in hidden if not _is_around(folder, self._project) for word in ("--tmpfs", folder)]
        for settings in self._settings:
            if os.path.isdir(os.path.dirname(settings)):
                # Extensions of the project run outside of the sandbox: none may be put there from inside.
                options += ["--ro-bind", settings if os.path.isdir(settings) else f"{self._own}/none", settings]
        if _is_around(self._project, self._own):
            options += ["--tmpfs", self._own]
        return [*options, "--chdir", "/"]

    def _make_guards(self) -> None:
        """Make the files of the repository that must be there to be kept from change."""
        for path, text in stand_ins(self._project, self._git).items() if self._git is not None else ():
            with contextlib.suppress(OSError), open(path, "x") as file:
                file.write(text)
                self._stands_in.append(path)

    def _variables(self) -> Mapping[str, str]:
        def is_secret(name: str, value: str) -> bool:
            return bool(_SECRET.search(name) or _WITH_PASSWORD.search(value))

        kept = {name: value for name, value in os.environ.items() if not is_secret(name, value)}
        return kept | {"HOME": self._home, "TMPDIR": "/tmp"}

    def _surroundings(self) -> object:
        """Return which folder is mounted: a new one in its place would not be seen."""
        try:
            found = os.stat(self._project)
        except OSError:
            return None
        return found.st_dev, found.st_ino


def _is_around(folder: str, inner: str) -> bool:
    return os.path.commonpath([folder, inner]) == folder


def folders_down(top: str, bottom: str) -> list[str]:
    """Return `top` and the folders from there down to `bottom`."""
    folders = [bottom]
    while folders[-1] != top:
        folders.append(os.path.dirname(folders[-1]))
    return folders[::-1]
