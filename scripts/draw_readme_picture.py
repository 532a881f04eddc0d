"""Draw ``docs/session-page.png``, the picture in the README: the page of an invented session in Chromium.

Run it from the root of the clone: ``python -m scripts.draw_readme_picture``
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image

from piolet.app.export.html import export_html
from piolet.app.secrets import Secrets
from piolet.harness.session.session import Session
from tests.support.browser import Browser
from tests.support.showcase import showcase

TARGET = Path("docs/session-page.png")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = showcase().write(Path(folder, "s.jsonl"))
        with Session.open(str(path), read_only=True) as session:
            export_html(session, Secrets(), folder, "page.html")
        browser = Browser()
        try:
            tab = browser.open(Path(folder, "page.html"), width=1280, height=860)
            tab.prefer(prefers_color_scheme="light")
            tab.until("document.querySelectorAll('article:not(.waiting)').length > 4")
            picture = Image.open(io.BytesIO(tab.picture()))
        finally:
            browser.close()
    picture.convert("RGB").quantize(128).save(TARGET, optimize=True)
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
