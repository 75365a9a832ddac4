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
from zemm.benchdnn import output
from zemm.benchdnn.page import html
from zemm.benchdnn.records import Record, Run

VOID = {"meta", "link", "path", "circle"}  # without an end tag in our pages


class Page(HTMLParser):
    """Counts elements by tag and by class, and collects texts by tag. All elements must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.styles: list[str] = []
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
        self.styles.append(named.get("style", ""))
        if "data-tip" in named:
            self.tips.append(named["data-tip"])
        for name in ("src", "href"):
            assert named.get(name, "data:").startswith("data:"), "nothing may come from elsewhere"
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
    assert page.tags["tr"] == 1 + 4
    assert page.classes["wide"] == page.classes["narrow"] == 1
    assert page.classes["point"] == 2 * 3
    assert page.classes["roof"] == 2 * 3  # int8, f32 and read
    assert page.classes["refusal"] == 1
    assert page.tags["script"] == 1
    assert page.tags["b"] == 0
    texts = [text for _, text in page.texts]
    assert f"zemm-benchdnn --output={NASTY}.html" in texts
    assert f"cannot do {NASTY}" in texts
    assert sum(tip.startswith(f"{NASTY} · zemm") for tip in page.tips) == 2


def test_bars_are_relative_to_zemm_and_cut() -> None:
    page = Page(html(contest()))
    widths = [float(m[1]) for style in page.styles if (m := re.match(r"width:(.*)%", style))]
    assert widths == [33.33, 100.0, 33.33]
    assert page.classes["cut"] == 1
    assert "--zemm:33.33%" in page.styles
    assert [text for tag, text in page.texts if tag == "span" and " ms" in text] == [
        "2 ms",
        "10 ms · 5.00×",
        "0.5 ms",
    ]


def test_bars_without_peers_are_times() -> None:
    page = Page(html(run(timed(0, "a"), timed(1, "b", milliseconds=0.5), peaks={})))
    widths = [float(m[1]) for style in page.styles if (m := re.match(r"width:(.*)%", style))]
    assert widths == [100.0, 25.0]
    assert page.classes["relative"] == page.classes["roof"] == 0


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


@pytest.mark.parametrize("results", [run(peaks={}), run(timed(0, "x" * 300), peaks={"int8": 5.0})])
def test_runs_without_records_or_with_long_names(results: Run) -> None:
    assert Page(html(results)).tags["section"] >= 1


# Sorts the table by its `device ms, best` downwards, and shows a tip. The dump has the result.
SCRIPT = """<script>
const head = [...document.querySelectorAll("th")].find((th) => th.textContent === "device ms, best");
head.firstChild.click();
head.firstChild.click();
document.querySelector("svg.wide .point").dispatchEvent(new Event("mouseenter"));
</script></body>"""


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
    assert page.classes["point"] == 6
    rows = [text for tag, text in page.texts if tag == "td" and text in ("zemm", "onednn", "torch")]
    assert rows == ["onednn", "zemm", "zemm", "torch"]
    assert re.search(r'<div id="tip"[^>]*>[^<]+·', done.stdout)
