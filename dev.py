"""Work on piolet with nothing but Python >= 3.11, pip and git: ``python3 dev.py COMMAND``.

    demo         run piolet's built-in demo model on a copy of examples/sample-project
    test [ARGS]  every check, then the whole test suite; ARGS go to pytest
    check        ruff format, ruff, mypy --strict, import contracts
    soak [ARGS]  the long tests, which `test` leaves out; ARGS go to pytest, PIOLET_SOAK_SEED repeats a run
    bench NAME   a benchmark of bench/; without a name, lists them
    lock [ARGS]  renew requirements/dev.txt from pyproject.toml; ARGS go to uv (--upgrade)

Each makes the environment .venv first where it is missing or out of date: the locked packages of requirements/dev.txt
and piolet itself, editable. A stamp in it tells whether it still fits, so the second time costs nothing.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (the one line that an older Python must be able to read)
    sys.exit(f"dev.py: piolet needs Python >= 3.11, this is {sys.version.split()[0]}; try python3.11 dev.py")

import hashlib
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "piolet-stamp"
LOCK = ROOT / "requirements" / "dev.txt"
SAMPLE = ROOT / "examples" / "sample-project"
SAMPLE_PROMPT = "The test in this folder fails. Find out why and repair the code."
MOST_WORKERS = 8


def say(text: str) -> None:
    print(f"dev.py: {text}", flush=True)


def run(*argv: object, cwd: Path | str = ROOT, env: dict[str, str] | None = None, stdin: int | None = None) -> int:
    """Run a command of the environment and return its exit code."""
    command = [str(arg) for arg in argv]
    return subprocess.run(command, cwd=cwd, env=env or environment(), stdin=stdin, check=False).returncode


def environment() -> dict[str, str]:
    """Return the variables of a command that runs in .venv, as its activation would set them."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    return env | {"VIRTUAL_ENV": str(VENV), "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


# The environment


def stamp() -> str:
    """Return what the environment depends on: Python's version, the place, the project file and the lock."""
    parts = [sys.version.encode(), os.fsencode(ROOT), (ROOT / "pyproject.toml").read_bytes(), LOCK.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def set_up() -> None:
    """Make or renew .venv unless it fits already."""
    if os.access(PYTHON, os.X_OK) and STAMP.exists() and STAMP.read_text() == stamp():
        return
    started = time.monotonic()
    say(f"making .venv with Python {sys.version.split()[0]}")
    pip = make_venv()
    packages = sum("==" in line for line in LOCK.read_text().splitlines())
    say(f"installing {packages} locked packages, then piolet itself; about a minute, once")
    install(pip, "-r", LOCK)
    install(pip, "--no-deps", "--no-build-isolation", "--editable", ROOT)
    STAMP.write_text(stamp())
    say(f"environment ready after {time.monotonic() - started:.0f} s")


def make_venv() -> list[str]:
    """Make .venv anew; return the pip command that installs into it."""
    complete = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, check=False)
    if complete.returncode == 0:
        return [str(PYTHON), "-m", "pip"]
    say("this Python lacks ensurepip; using its own pip")
    if run(sys.executable, "-m", "venv", "--clear", "--without-pip", VENV):
        sys.exit("dev.py: could not make .venv (see above)")
    return [sys.executable, "-m", "pip", "--python", str(PYTHON)]


def install(pip: list[str], *what: object) -> None:
    options = ("install", "-qq", "--disable-pip-version-check", "--no-input")
    if run(*pip, *options, *what):
        sys.exit("dev.py: pip could not install the packages (see above); run the same command to try again")


# The commands


def demo() -> int:
    with tempfile.TemporaryDirectory(prefix="piolet-demo-") as folder:
        original, project = Path(folder) / "original", Path(folder) / "sample-project"
        shutil.copytree(SAMPLE, original)
        shutil.copytree(SAMPLE, project)
        env = environment() | {"PI_CODING_AGENT_DIR": str(Path(folder) / "agent"), "PYTHONDONTWRITEBYTECODE": "1"}
        say(f"a copy of {SAMPLE.relative_to(ROOT)} is in {project}; its test fails:")
        if run("python", "-m", "unittest", "-q", cwd=project, env=env) == 0:
            sys.exit("dev.py: the test of the sample project should fail before the demo")
        say(f'piolet -p --model demo/scripted "{SAMPLE_PROMPT}"')
        command = ("piolet", "-p", "--model", "demo/scripted", SAMPLE_PROMPT)
        code = run(*command, cwd=project, env=env, stdin=subprocess.DEVNULL)
        if code:
            return code
        say("what it changed:")
        run("git", "--no-pager", "diff", "--no-index", "--no-prefix", original.name, project.name, cwd=folder)
        say("the test afterwards:")
        code = run("python", "-m", "unittest", "-q", cwd=project, env=env)
    say(f"for a model of your own, in any folder: {VENV / 'bin' / 'piolet'} --model PROVIDER/MODEL (see README.md)")
    return code


def check() -> int:
    commands = (
        ("ruff", "format", "--check", "--quiet", "."),
        ("ruff", "check", "--quiet", "."),
        ("mypy",),
        ("lint-imports", "--no-logo"),
    )
    for command in commands:
        say(" ".join(command))
        code = run(*command)
        if code:
            return code
    return 0


def test(*arguments: str) -> int:
    workers = min(os.cpu_count() or 1, MOST_WORKERS)
    return check() or run("pytest", "-q", "-n", workers, *arguments)


def soak(*arguments: str) -> int:
    seed = os.environ.get("PIOLET_SOAK_SEED") or str(random.randrange(2**32))
    say(f"PIOLET_SOAK_SEED={seed}")
    env = environment() | {"PIOLET_SOAK_SEED": seed}
    return run("pytest", "-m", "soak", "--timeout=0", f"--hypothesis-seed={seed}", *arguments, env=env)


def bench(*arguments: str) -> int:
    return run("python", "-m", "bench", *arguments)


def lock(*arguments: str) -> int:
    if shutil.which("uv", path=environment()["PATH"]) is None:
        install([str(PYTHON), "-m", "pip"], "uv")
    options = ("--universal", "--python-version", "3.11", "--no-header", "--no-annotate", "--quiet")
    return run("uv", "pip", "compile", "pyproject.toml", "--group", "dev", *options, *arguments, "-o", LOCK)


COMMANDS = {command.__name__: command for command in (demo, test, check, soak, bench, lock)}


def main(arguments: list[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if not arguments or arguments[0] not in COMMANDS or (len(arguments) > 1 and arguments[0] in ("demo", "check")):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        set_up()
        return COMMANDS[arguments[0]](*arguments[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
