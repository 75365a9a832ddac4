# SPDX-License-Identifier: Apache-2.0
"""The page of --output=FILE.html: its elements, its texts, and a look at it in a browser."""

import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support_results import NASTY, contest, run, timed
from zemm._programs import picture
from zemm.benchdnn.report import output
from zemm.benchdnn.report.page import html
from zemm.benchdnn.report.records import Record

needs_matplotlib = pytest.mark.skipif(not picture.is_installed(), reason=f"needs {picture.PACKAGE}")
VOID = {"meta", "link"}  # without an end tag in our pages


class Page(HTMLParser):
    """Counts elements by tag and by class, and collects texts by tag. All elements must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.tips: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attributes}
        self.tags[tag] += 1
        self.classes.update(named.get("class", "").split())
        if "data-tip" in named:
            self.tips.append(named["data-tip"])
        for name in ("src", "href", "xlink:href"):
            assert named.get(name, "#").startswith(("data:", "#")), "nothing may come from elsewhere"
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.append((self._open[-1], data))


def test_elements_and_escaped_texts() -> None:
    page = Page(html(contest()))
    assert page.tags["tr"] == 1 + 5
    assert page.tags["script"] == 1
    assert page.tags["b"] == 0
    texts = [text for _, text in page.texts]
    assert f"zemm-benchdnn --output={NASTY}.html" in texts
    assert f"cannot do {NASTY}" in texts
    assert "A CPU (avx2)" in texts  # without what the device has in software


@needs_matplotlib
def test_charts_have_one_clock_and_no_reference() -> None:
    """Marks and bars are of host times, also those of zemm, which has device times, too."""
    page = Page(html(contest()))
    assert page.tags["svg"] == page.classes["charts"] == 1
    heads = [tip.splitlines()[0] for tip in page.tips]
    assert heads == [f"{NASTY} · onednn", f"{NASTY} · zemm", "second · zemm"]
    assert ["\n2 ms" in tip for tip in page.tips] == [False, True, False]
    texts = [text for tag, text in page.texts if tag == "text"]
    assert [text for text in texts if " ms" in text] == [
        "2 ms", "10 ms · 5.00× →", "openvino: 900 ms · reference, not comparable", "0.5 ms",
    ]  # fmt: skip
    assert f"torch: refused: cannot do {NASTY}" in texts
    assert "by the host's clock" in " ".join(texts)


@needs_matplotlib
def test_bars_without_peers_are_device_times() -> None:
    page = Page(html(run(timed(0, "a"), timed(1, "b", milliseconds=0.5), peaks={})))
    texts = [text for tag, text in page.texts if tag == "text"]
    assert {"1 ms", "0.25 ms"} <= set(texts)
    assert "by the device's clock" in " ".join(texts)
    assert "GOPS" in texts
    assert not any(" GOPS" in text for text in texts)  # no limits


@pytest.mark.parametrize("interrupted", [False, True])
def test_checked_cases_have_a_table_only(interrupted: bool) -> None:
    failed = Record(3, "2x3:3x4", "", "zemm", "0.1.0", "--matmul 2x3:3x4", "FAILED", "wrong", "k", errors=7)
    page = Page(html(run(failed, peaks={}, interrupted=interrupted)))
    assert page.tags["svg"] == 0
    assert page.tags["tr"] == 2
    texts = [text for _, text in page.texts]
    assert {"errors", "7", "1 failed"} <= set(texts)
    assert "GOPS" not in texts
    assert any("interrupted" in text for text in texts) == interrupted


def test_without_matplotlib_there_is_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture.util, "find_spec", lambda name: None)
    page = Page(html(contest()))
    assert page.tags["svg"] == 0
    assert page.tags["tr"] == 1 + 5
    assert any("pip install matplotlib" in text for _, text in page.texts)


# Sorts the table by its `device ms, best` downwards, and shows a tip. The dump has the result.
SCRIPT = """<script>
const head = [...document.querySelectorAll("th")].find((th) => th.textContent === "device ms, best");
head.firstChild.click();
head.firstChild.click();
document.querySelector(".point").dispatchEvent(new Event("mouseenter"));
</script></body>"""


@needs_matplotlib
def test_in_a_browser(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("needs a browser: apt-get install chromium")
    file = tmp_path / "a.html"
    output.write(contest(), [str(file)], [])
    file.write_text(file.read_text().replace("</body>", SCRIPT))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    command += ["--enable-logging=stderr", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    page = Page(done.stdout.replace("<br>", ""))
    assert page.classes["point"] == 3
    rows = [text for tag, text in page.texts if tag == "td" and text in ("zemm", "onednn")]
    assert rows == ["zemm", "zemm", "onednn"]
    assert re.search(r'<div id="tip"[^>]*>[^<]+·', done.stdout)
