"""Packages at the start: fetched if they are missing or named for one run; what they bring along can be imported."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.run import Place

ONLINE = {"PI_OFFLINE": ""}


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str], **info: str) -> None:
    """Put a wheel of the distribution `name` into `folder`. `info`: lines of its metadata and other files of it."""
    folder.mkdir(exist_ok=True)
    distribution = name.replace("-", "_")
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{info.get('requires', '')}"
    with zipfile.ZipFile(folder / f"{distribution}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
        inside = f"{distribution}-{version}.dist-info"
        wheel.writestr(f"{inside}/METADATA", metadata)
        wheel.writestr(
            f"{inside}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{inside}/entry_points.txt", info.get("entry_points", ""))
        wheel.writestr(f"{inside}/RECORD", "")


def command(name: str, module: str = "") -> str:
    """The text of an extension with a command `name`; `module` is imported first."""
    return (
        f"{f'import {module}' if module else ''}\n"
        f"def extension(pi):\n    pi.register_command({name!r}, lambda args, ctx: None)\n"
    )


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder that pip takes all wheels from."""
    return tmp_path / "wheels"


def pip(wheels: Path) -> dict[str, str]:
    return {**ONLINE, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}


def started(place: Place, *argv: str, env: Mapping[str, str] | None = None) -> tuple[list[str], str]:
    """Start the RPC mode; return the names of its commands, and what it said besides."""
    line = '{"id":"1","type":"get_commands"}\n'
    done = place.run("--mode", "rpc", "--no-session", *argv, stdin=line, env=env, timeout=120)
    (response,) = (record for record in done.records if record.get("id") == "1")
    return [one["name"] for one in response["data"]["commands"]], done.stderr


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_extensions_import_what_their_package_depends_on(place: Place, wheels: Path) -> None:
    write_wheel(wheels, "knotlib", "2.0", {"knotlib.py": ""})
    files = {"pi_knots/extensions/knots.py": command("knot", "knotlib, pi_knots.tools"), "pi_knots/tools.py": ""}
    write_wheel(wheels, "pi-knots", "1.0", {"pi_knots/__init__.py": "", **files}, requires="Requires-Dist: knotlib\n")
    assert place.run("install", "pypi:pi-knots", env=pip(wheels)).stderr == ""
    assert started(place) == (["knot"], "")


def test_a_distribution_may_declare_its_extensions_as_entry_points(place: Place, wheels: Path) -> None:
    declared = "[pi.extensions]\nbelay = pi_belay.agent:start\n"
    text = command("belay").replace("extension(pi)", "start(pi)")
    files = {"pi_belay/__init__.py": "", "pi_belay/agent.py": text}
    write_wheel(wheels, "pi-belay", "1.0", files, entry_points=declared)
    place.run("install", "pypi:pi-belay", env=pip(wheels))
    assert started(place) == (["belay"], "")
    assert "[x] extensions" in place.run("config").stdout
    assert place.run("config", "--off", "dist:belay").exit == 0
    assert started(place) == ([], "")


def test_two_versions_of_a_dependency_are_told(place: Place, wheels: Path) -> None:
    for number in (1, 2):
        write_wheel(wheels, "knotlib", f"{number}.0", {"knotlib.py": f"version = {number}"})
        files = {f"pi_k{number}/extensions/k.py": command(f"k{number}", "knotlib"), f"pi_k{number}/__init__.py": ""}
        requires = f"Requires-Dist: knotlib=={number}.0\n"
        write_wheel(wheels, f"pi-k{number}", "1.0", files, requires=requires)
        place.run("install", f"pypi:pi-k{number}", env=pip(wheels))
    commands, told = started(place)
    assert commands == ["k1", "k2"]
    assert "pypi:pi-k2 wants knotlib 2.0, and gets 1.0, which pypi:pi-k1 brought before" in told


def test_an_installed_distribution_offers_its_package(place: Place, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "climbing" / "prompts").mkdir(parents=True)
    (site / "climbing" / "prompts" / "belay.md").write_text("Belay $1.\n")
    (site / "climbing" / "prompts" / "climb.md").write_text("Climb $1.\n")
    (site / "climbing-1.0.dist-info").mkdir()
    (site / "climbing-1.0.dist-info" / "entry_points.txt").write_text("[pi.packages]\nclimbing = climbing\n")
    env = {"PYTHONPATH": f"{place.environment()['PYTHONPATH']}:{site}"}
    assert started(place, env=env)[0] == ["belay", "climb"]
    assert place.run("config", "--off", "prompts/climb.md", env=env).exit == 0
    assert started(place, env=env)[0] == ["belay"]
    commands, told = started(place)
    assert commands == []
    assert "Package dist:climbing: no installed distribution declares a package 'climbing'" in told


def test_a_missing_package_is_fetched_at_the_start(place: Place, wheels: Path) -> None:
    write_wheel(wheels, "pi-ropes", "1.0", {"pi_ropes/__init__.py": "", "pi_ropes/prompts/splice.md": "Splice $1.\n"})
    place.write_settings({"packages": ["pypi:pi-ropes", "pypi:pi-nothing"]})
    commands, told = started(place)
    assert commands == []
    assert "pypi:pi-ropes is not installed, and piolet is offline" in told
    commands, told = started(place, env=pip(wheels))
    assert commands == ["splice"]
    assert "pypi:pi-ropes" not in told
    assert "pypi:pi-nothing is missing" in told
    assert "Traceback" not in told


def test_a_package_of_the_command_line_is_there_for_one_run(place: Place, wheels: Path) -> None:
    files = {"pi_ropes/extensions/r.py": command("rope"), "pi_ropes/prompts/splice.md": "Splice $1.\n"}
    write_wheel(wheels, "pi-ropes", "1.0", {"pi_ropes/__init__.py": "", **files})
    assert (
        started(place, "-e", "pypi:pi-ropes")[1] == "Warning: pypi:pi-ropes was never fetched, and piolet is offline\n"
    )
    assert started(place, "-e", "pypi:pi-ropes", env=pip(wheels)) == (["rope", "splice"], "")
    assert started(place) == ([], "")
    assert not (place.agent / "settings.json").exists()
    assert started(place, "-e", "pypi:pi-ropes", "--no-extensions") == (["rope", "splice"], "")


def test_a_distribution_leaves_no_trace(place: Place, wheels: Path) -> None:
    write_wheel(wheels, "knotlib", "2.0", {"knotlib.py": ""})
    write_wheel(wheels, "pi-ropes", "1.0", {"pi_ropes/__init__.py": ""}, requires="Requires-Dist: knotlib\n")
    (place.cwd / "f").write_text("x")
    before = files_below(place.home), files_below(place.cwd)
    for words in ([], ["-l", "-a"]):
        assert place.run("install", "pypi:pi-ropes", *words, env=pip(wheels)).exit == 0
        assert place.run("remove", "pypi:pi-ropes", *words).exit == 0
    place.agent.rmdir()
    place.agent.parent.rmdir()
    assert (files_below(place.home), files_below(place.cwd)) == before


class Registry:
    """An npm registry on loopback with one package."""

    def __init__(self, name: str, files: Mapping[str, str]) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for path, text in files.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(text.encode())
                tar.addfile(entry, io.BytesIO(text.encode()))
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                is_tarball = self.path.endswith(".tgz")
                found = is_tarball or self.path == f"/{name}"
                self.send_response(200 if found else 404)
                self.end_headers()
                self.wfile.write(packed.getvalue() if is_tarball else json.dumps(registry.document).encode())

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
        dist = {"tarball": f"{self.url}/{name}-1.0.0.tgz", "integrity": integrity}
        version = json.loads(files["package.json"]) | {"dist": dist}
        self.document = {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}

    def __enter__(self) -> Registry:
        threading.Thread(target=self._server.serve_forever, args=(0.01,)).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    manifest = {
        "name": "pi-sails",
        "version": "1.0.0",
        "pi": {"skills": ["./skills"], "extensions": ["./index.ts"]},
        "peerDependencies": {"not-there": "*"},
        "scripts": {"postinstall": "touch $HOME/ran"},
    }
    skill = "---\nname: sails\ndescription: Sets sails.\n---\nSet them.\n"
    files = {"package.json": json.dumps(manifest), "skills/sails/SKILL.md": skill, "index.ts": "export default 1"}
    with Registry("pi-sails", files) as registry:
        yield registry


def test_of_a_package_from_npm_all_is_used_but_code(place: Place, registry: Registry) -> None:
    env = {**ONLINE, "npm_config_registry": registry.url, "npm_config_cache": str(place.home.parent / "npm")}
    done = place.run("install", "npm:pi-sails@1.0.0", env=env, timeout=120)
    assert (done.exit, done.stderr) == (0, "")
    assert started(place) == (["skill:sails"], "")
    assert "TypeScript extension, not loaded" in place.run("--mode", "rpc", "--no-session").stdout
    assert not (place.home / "ran").exists()
    assert place.run("remove", "npm:pi-sails", env=env, timeout=120).exit == 0
    assert files_below(place.agent) == set()
