"""A real browser for tests: Chromium without a window, driven over two pipes; no page of it has a network to go to."""

from __future__ import annotations

import base64
import fcntl
import functools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 60  # seconds that something may take on a loaded machine

#: What is pressed, by the name of the key: code and virtual key.
_KEYS = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}

_PLACES = (3, 4)  # where Chromium reads commands and writes answers


def _take_places(*descriptors: int) -> None:
    out_of_the_way = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in descriptors]
    for descriptor, place in zip(out_of_the_way, _PLACES, strict=True):
        os.dup2(descriptor, place)


class Browser:
    """One Chromium with a profile of its own. `open` gives a tab."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        to_browser, ours = os.pipe()
        answers, from_browser = os.pipe()
        self.downloads = Path(self._profile.name, "downloads")
        self._process = subprocess.Popen(
            [
                CHROMIUM,
                *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
                *("--disable-extensions", "--disable-background-networking", "--disable-component-update"),
                *("--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank"),
            ],
            preexec_fn=functools.partial(_take_places, to_browser, from_browser),
            pass_fds=_PLACES,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile.name, "TZ": "UTC"},
        )
        os.close(to_browser)
        os.close(from_browser)
        self._in, self._out = os.fdopen(ours, "wb", 0), os.fdopen(answers, "rb")
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        downloads = {"behavior": "allow", "downloadPath": str(self.downloads), "eventsEnabled": True}
        try:
            self.call("Browser.setDownloadBehavior", **downloads)
        except BaseException:
            self.close()
            raise

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """Send a command of the DevTools protocol and return its result; events on the way are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        self._in.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method: str, session: str | None = None) -> dict[str, Any]:
        """Return the next event of this name, now or when it comes."""
        while True:
            for place, event in enumerate(self.events):
                if event.get("method") == method and session in (None, event.get("sessionId")):
                    return dict(self.events.pop(place))
            self.events.append(self._read())

    def open(self, page: Path | str, query: str = "", *, width: int = 1400, height: int = 900) -> Tab:
        """Open a file, or an address with ``http:``, and return when it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, target, session)
        tab.resize(width, height)
        is_address = str(page).startswith("http:")
        tab.go(f"{page if is_address else Path(page).absolute().as_uri()}{query}")
        return tab

    def close(self) -> None:
        self._in.close()  # it ends when nobody can command it any more
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()
        self._profile.cleanup()

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = os.read(self._out.fileno(), 1 << 20)
            assert chunk, "Chromium has ended"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


class Tab:
    """A page that is open. What it says on the console and what it asks of the network are kept from the start."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser, self._target, self._session = browser, target, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method: str, **parameters: Any) -> Any:
        return self._browser.call(method, self._session, **parameters)

    def go(self, address: str) -> None:
        loader = self.call("Page.navigate", url=address)["loaderId"]
        loaded = {"loaderId": loader, "name": "load"}
        while not loaded.items() <= self._browser.wait_for("Page.lifecycleEvent", self._session)["params"].items():
            pass

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def prefer(self, **features: str) -> None:
        """Set what the system prefers, say ``prefers_color_scheme="dark"``; `media` is screen or print."""
        media = features.pop("media", "")
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=listed)

    def run(self, script: str) -> Any:
        """Return what an expression gives in the page, as JSON; a promise is awaited."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until an expression is true in the page; return its value. It is looked at before every frame."""
        return self.run(
            f"new Promise((done, fail) => {{ const end = performance.now() + {PATIENCE * 1000};"
            f" const look = () => {{ const value = ({script}); if (value) done(value);"
            f" else if (performance.now() > end) fail(new Error({json.dumps(script)}));"
            " else setTimeout(look, 20); }; look(); })"
        )

    def press(self, key: str) -> None:
        code = _KEYS.get(key)
        text = {} if code else {"text": key}
        number = code or ord(key.upper())
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=number, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=number)

    def write(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click the first element that `selector` names, once it is there and nothing lies over it."""
        self.until(
            f"(() => {{ const found = document.querySelector({json.dumps(selector)}); if (!found) return false;"
            " found.scrollIntoView({block: 'center'}); const box = found.getBoundingClientRect();"
            " const top = document.elementFromPoint(box.x + Math.min(box.width / 2, 60), box.y + box.height / 2);"
            " if (!top || !(found.contains(top) || top.contains(found))) return false;"
            " found.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true})); return true; })()"
        )

    def picture(self) -> bytes:
        """Return what is seen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def complaints(self) -> list[str]:
        """Return every error, warning and exception so far, and every address that was asked for but the page's own."""
        self.run("1")  # whatever was reported before is here then
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            method, facts = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(f"exception: {facts['exceptionDetails']}")
            elif method == "Runtime.consoleAPICalled" and facts["type"] in ("error", "warning"):
                found.append(f"console: {facts['args']}")
            elif method == "Log.entryAdded" and facts["entry"]["level"] in ("error", "warning"):
                found.append(f"log: {facts['entry']['text']}")
            elif method == "Network.requestWillBeSent":
                address = facts["request"]["url"]
                if not address.startswith(("file:", "data:", "blob:")):
                    found.append(f"request: {address}")
            elif method == "Page.javascriptDialogOpening":
                found.append(f"dialog: {facts['message']}")
        return found

    def forget(self) -> None:
        """Complain no more of what was said so far."""
        self._browser.events[:] = [event for event in self._browser.events if event.get("sessionId") != self._session]

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)
