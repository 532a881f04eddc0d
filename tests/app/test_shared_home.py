"""The peer and piolet write settings and trust of one home at the same time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from piolet.app.settings import SettingsError
from piolet.app.settings_files import SettingsFiles
from piolet.app.trust import TrustError, TrustStore
from tests.support.peer import Peer

PROGRAM = """
const [pkg, home] = process.argv.slice(1);
const peer = await import(pkg + "/dist/index.js");
const settings = peer.SettingsManager.create(home, home);
const trust = new peer.ProjectTrustStore(home);
console.log("ready");
for (let i = 0; i < 20; i++) {
  do {
    settings.setModelThinkingLevel("peer", "m" + i, "high");
    await settings.flush();
  } while (settings.drainErrors().length > 0);
  for (let tries = 0; tries < 100; tries++) {
    try { trust.set("/peer/" + i, true); break; } catch { await new Promise((done) => setTimeout(done, 10)); }
  }
}
"""


def insist(write: Callable[[], None]) -> None:
    """Write again while the other program holds the lock."""
    for _ in range(200):
        try:
            write()
        except (SettingsError, TrustError):
            time.sleep(0.01)
        else:
            return
    write()


def test_what_both_write_at_once_is_kept(peer: Peer, tmp_path: Path) -> None:
    node = shutil.which("node", path=os.pathsep.join([os.environ.get("NODE_BIN", ""), os.environ["PATH"]]))
    if node is None or peer.package is None:
        pytest.skip("the peer's package or node is not there (PI_PKG, NODE_BIN)")
    files, trust = SettingsFiles(tmp_path, tmp_path, project_trusted=False), TrustStore(tmp_path)
    files.write(["other", "first"], 1)  # of a file that is not there yet the peer looks before it takes the lock
    trust.save({"/ours/first": True})
    other = subprocess.Popen(
        [node, "--input-type=module", "-e", PROGRAM, str(peer.package), str(tmp_path)],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PI_OFFLINE": "1"},
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"ready\n"  # it would write nothing, ever, had the lock been taken when it began
    written = 0
    while other.poll() is None or written < 20:
        name = str(written)
        insist(lambda name=name: files.write(["other", name], 1))  # type: ignore[misc]
        insist(lambda name=name: trust.save({f"/ours/{name}": True}))  # type: ignore[misc]
        written += 1
        time.sleep(0.02)
    other.stdout.close()
    assert other.returncode == 0
    settings = json.loads((tmp_path / "settings.json").read_bytes())
    assert (len(settings["other"]), len(settings["modelThinkingLevels"])) == (written + 1, 20)
    entries = trust.read()
    assert sum(path.startswith("/ours/") for path in entries) == written + 1
    assert sum(path.startswith("/peer/") for path in entries) == 20
