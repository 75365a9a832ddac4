# SPDX-License-Identifier: Apache-2.0
"""The pages of --output=FILE.html and of zemm-models: elements, texts, and a look at them in a browser."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from support_results import NASTY, contest, refused, run, timed
from zemm._programs import picture
from zemm.benchdnn.report.page import html
from zemm.benchdnn.report.records import Record
from zemm.models import output, record

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
    assert "peer ggml left out: it is gone" in texts
    assert not any("unreliable" in text for text in texts)


def test_a_limit_that_a_case_exceeds_is_unreliable() -> None:
    texts = [text for _, text in Page(html(run(replace(timed(0, "a"), percent_of_peak=112.0)))).texts]
    assert {"112", "f32, unreliable"} <= set(texts)
    assert any("Above 100 % a limit is unreliable" in text for text in texts)


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
SCRIPT = """
const head = [...document.querySelectorAll("th")].find((th) => th.textContent === "device ms, best");
head.firstChild.click();
head.firstChild.click();
document.querySelector(".point").dispatchEvent(new Event("mouseenter"));
"""


def shown(page: str, script: str, folder: Path, width: int = 1300) -> str:
    """The elements of a page in a browser after the script, where nothing went wrong."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("needs a browser: apt-get install chromium")
    file = folder / "a.html"
    file.write_text(page.replace("</body>", f"<script>{script}</script></body>"))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile"]
    command += [f"--window-size={width},900", "--enable-logging=stderr", "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CONSOLE" not in done.stderr, done.stderr
    return done.stdout


@needs_matplotlib
def test_in_a_browser(tmp_path: Path) -> None:
    found = shown(html(contest()), SCRIPT, tmp_path)
    page = Page(found.replace("<br>", ""))
    assert page.classes["point"] == 3
    rows = [text for tag, text in page.texts if tag == "td" and text in ("zemm", "onednn")]
    assert rows == ["zemm", "zemm", "onednn"]
    assert re.search(r'<div id="tip"[^>]*>[^<]+·', found)


def wide_contest() -> str:
    """A page with all columns, long names, and a peer that refuses."""
    own = replace(timed(0, "gguf_q4_k_512_as_f32"), kernel="matmul_int8_any_any_264x64x1024_avx512_segments")
    times = {"host_ms_best": 1234.5, "host_ms_median": 1239.0, "percent_of_peak": 104.0, "bound": "amx_int8"}
    own = replace(own, device_ms_best=0.00123, device_ms_median=0.00129, **times)
    peer = replace(timed(0, "", "openvino (src quantised)", 10.0, 5.0), kernel="brg_matmul:avx512_core_vnni")
    why = "MatMulNBits takes weights of 4 or 8 bits in blocks of 16, 32, 64, 128 or 256 elements along K"
    return html(run(own, peer, refused(0, "onnxruntime", why)))


def wide_models() -> str:
    rates = [918.2, 901.3, 1.25, 114.1, 112.5, 12.5]
    loads, sizes = [12.34, 1.234, 10.45, 0.123], [612e6, 1234e6, 11234e6, 11456e6]
    figures = dict(zip(output._COLUMNS, [*rates, *loads, *sizes, 21.35, 0.0123], strict=True))
    records = [
        record.Record("zemm int8 compiled", "0.1.0", "EXECUTED", "4 bits in groups of 128", **figures),
        record.Record("openvino", "", "REFUSED", "No module named 'openvino_genai': pip install it"),
    ]
    facts = ("2026-11-23T11:00:00+00:00", "zemm-models", "A CPU", 2)
    return output.as_html(
        record.Run(*facts, "smollm2", "gguf", 98_000_000, "a text", {"prompt": 512}, records)
    )


WIDTHS = """
const hidden = (box) => box.scrollWidth - box.clientWidth;
const table = document.querySelector(".scroll");
document.title = [innerWidth, hidden(document.documentElement), hidden(table)].join();
"""


@pytest.mark.parametrize("width", [1000, 1300, 1920])
@pytest.mark.parametrize("page", [wide_contest, wide_models])
def test_widths(page: Callable[[], str], width: int, tmp_path: Path) -> None:
    """No page scrolls sideways. From 1300 pixels on its table has room; else the table scrolls."""
    found = Page(shown(page(), WIDTHS, tmp_path, width).replace("<br>", ""))
    ((_, title),) = [text for text in found.texts if text[0] == "title"]
    window, of_page, of_table = map(int, title.split(","))
    assert (window, of_page) == (width, 0)
    assert of_table == 0 or width < 1300
