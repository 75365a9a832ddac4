#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the documents into this folder.

    python docs/pictures/draw.py [layers] [reductions] [peers]

layers.svg shows the layers that docs/design.md lists. The others show times of this machine, which should
have nothing else to do: reductions.svg the cases of perf_matmul_reductions, peers.png those of
peers_cases beside the libraries that are installed (`pip install '.[cpu,peers]' matplotlib`).
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent
BLUE, ORANGE, GREY, LINE = "#0b63ce", "#d1570f", "#8a94a6", "#6b7689"
ROUNDS = 20  # turns of each case
PEERS = "onednn,openvino,onnxruntime"


def text(x: float, y: float, words: str, anchor: str = "start", size: int = 13, fill: str = "#1d2430") -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str, edge: str = "none") -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} fill="{fill}" stroke="{edge}"/>'


def down(x: float, top: float, bottom: float) -> str:
    return f'<path d="M{x:g} {top:g}V{bottom:g}m-4-7 4 7 4-7" fill="none" stroke="{LINE}"/>'


def svg(width: int, height: int, parts: list[str], title: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
    whole = [f'{head} width="{width}" height="{height}">', f"<title>{escape(title)}</title>"]
    return "\n".join([*whole, box(0, 0, width, height, "white"), *parts, "</svg>"]) + "\n"


def folders() -> Iterator[tuple[str, str]]:
    """The folders of libzemm.so and the first words about each, from docs/design.md."""
    (listed,) = re.findall(r"(?s)## Layers\n```\n(.*?)```", (FOLDER.parent / "design.md").read_text())
    for name, words in re.findall(r"(?m)^(src/\w+/) +(.*)", listed):
        if name not in ("src/compat/", "src/timing/", "src/cpu_driver/"):
            yield name, re.split("[:;]", words)[0]


def layers() -> str:
    rows = list(folders())
    parts, top = [], 14

    def name_box(x: float, width: float, words: str, under: str = "", fill: str = "#eef2f8") -> None:
        parts.append(box(x, top, width, 42 if under else 28, fill, LINE))
        parts.append(text(x + width / 2, top + 18, words, "middle"))
        if under:
            parts.append(text(x + width / 2, top + 34, under, "middle", 11, LINE))

    name_box(20, 200, "programs of oneDNN")
    name_box(240, 500, "C programs, Python, zemm-benchdnn")
    parts += [down(120, top + 28, top + 48), down(490, top + 28, top + 92)]
    top += 48
    name_box(20, 200, "libdnnl.so.3", fill="#fdf1e7")
    parts.append(down(120, top + 28, top + 44))
    top += 44
    height = 30 + 18 * len(rows)
    parts += [box(20, top, 720, height, "#e7f0fc", LINE), text(32, top + 19, "libzemm.so", size=14)]
    for row, (name, words) in enumerate(rows):
        parts += [
            text(48, top + 40 + 18 * row, name, size=12),
            text(150, top + 40 + 18 * row, words, size=12),
        ]
    parts.append(text(728, top + 19, "SPIR-V kernels inside", "end", 12, LINE))
    top += height
    for x, words in ((195, "through libze_loader.so.1"), (565, "Level Zero")):
        parts += [down(x, top, top + 30), text(x + 10, top + 18, words, size=11, fill=LINE)]
    top += 30
    name_box(20, 350, "Intel's GPU driver", "an Intel GPU (never tried)")
    name_box(390, 350, "libze_cpu.so, zemm's driver", "Intel's OpenCL CPU runtime: any x86-64 CPU", "#fdf1e7")
    return svg(760, top + 56, parts, "Programs, libzemm.so, Level Zero and the drivers below it")


def timed(*arguments: str) -> None:
    command = ["zemm-benchdnn", "--engine=cpu", "--mode=P", *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=FOLDER.parents[1])


def reductions() -> str:
    """Bars of the device's time, in turns; the best of each case counts."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        turns = ["--batch=perf_matmul_reductions"] * ROUNDS
        timed(f"--output={file.name}", "--max-ms-per-prb=10", "--matmul", *turns)
        run = json.loads(Path(file.name).read_text())
    best: dict[str, float] = {}
    for row in run["rows"]:
        best[row["name"]] = min(row["device_ms_best"], best.get(row["name"], row["device_ms_best"]))
    kinds = {
        "none": ("no zero points", GREY),
        "with": ("zero points and precomputed reductions", BLUE),
        "without": ("zero points alone: zemm sums src itself", ORANGE),
    }
    sizes = list(dict.fromkeys(name.partition("_")[2] for name in best))
    title = "Device time of s8 by u8, 31 x 2560 by 2560 x N, over that without zero points"
    parts, y = [text(20, 26, title)], 44
    for words, colour in kinds.values():
        parts += [box(20, y, 12, 12, colour), text(40, y + 11, words, size=12)]
        y += 18
    for size in sizes:
        y += 12
        parts.append(text(100, y + 32, f"N = {size}", "end"))
        for kind, (_, colour) in kinds.items():
            ratio = best[f"{kind}_{size}"] / best[f"none_{size}"]
            parts += [box(110, y, 300 * ratio, 15, colour)]
            words = f"{ratio:.2f} ({1000 * best[f'{kind}_{size}']:.3g} us)"
            parts.append(text(116 + 300 * ratio, y + 12, words, size=12))
            y += 17
    facts = f"{run['run']['processor']}, {run['run']['cores']} cores, {run['run']['date'][:10]}"
    parts.append(text(20, y + 26, f"{facts}. Best of {ROUNDS} turns.", size=12, fill=LINE))
    parts.append(text(20, y + 44, "python docs/pictures/draw.py reductions", size=12, fill=LINE))
    return svg(760, y + 58, parts, "Time of a matmul with and without precomputed reductions")


def peers() -> None:
    """The picture of zemm-benchdnn: a roofline, and bars beside the peers."""
    from PIL import Image  # matplotlib brings it

    picture = FOLDER / "peers.png"
    timed("--peak", f"--peer={PEERS}", "--max-ms-per-prb=100", "--plot=docs/pictures/peers.png",
          "--matmul", "--batch=docs/pictures/peers_cases")  # fmt: skip
    Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)  # a third of the size


if __name__ == "__main__":
    asked = sys.argv[1:] or ["layers", "reductions", "peers"]
    for draw in (layers, reductions):
        if draw.__name__ in asked:
            (FOLDER / f"{draw.__name__}.svg").write_text(draw(), encoding="utf-8")
    if "peers" in asked:
        peers()
