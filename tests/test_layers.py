# SPDX-License-Identifier: Apache-2.0
"""The include graph of src follows the layers of docs/design.md from higher to lower layers, within a
folder its rooms, which documents list, from higher to lower rooms, and has no circle.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".cl", ".def"}
APART = "cpu_driver"  # a library of its own: neither it nor zemm includes anything of the other,
SHARED = ("trust", "isa")  # except that both include these layers
LISTS = "lists"  # *.def files of other layers, which are below every layer
ROOMS = ("docs/design.md", "docs/level_zero.md", "CONTRIBUTING.md")  # the documents with lists of rooms
Graph = dict[str, list[str]]


def layers(design: str) -> list[str]:
    """The folders of src in the list under "Layers", from the highest to the lowest."""
    section = re.search(r"^## Layers\n+```\n(.*?)^```", design, re.S | re.M)
    assert section, "docs/design.md has no list of layers"
    return re.findall(r"^src/(\w+)/", section[1], re.M)


def documents() -> str:
    return "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ROOMS)


def rooms(text: str, top: str = "src") -> dict[str, list[str]]:
    """The rooms of each folder of src (or another one) that has some, from the highest to the lowest:
    lines like "src/matmul/  desc > plan > choose", which may go on in the next line.
    """
    found = re.findall(rf"^{top}/(\w+)/\s+(\w+(?:\s+>\s+\w+)+)$", text, re.M)
    return {folder: re.split(r"\s+>\s+", order) for folder, order in found}


def include_graph(src: Path) -> Graph:
    """The files that each file of src includes, by names relative to src. "zemm/..." is the public
    interface.

    Headers of the system and files that the build makes are left out.
    """
    files = sorted(path for path in src.rglob("*") if path.suffix in SUFFIXES)
    names = {path.relative_to(src).as_posix() for path in files}
    graph: Graph = {}
    for path in files:
        own = path.relative_to(src)
        graph[own.as_posix()] = found = []
        text = path.read_text(encoding="utf-8")
        for target in re.findall(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', text, re.M):
            # The compilers look beside the file, in the folder of its layer, and in src.
            places = [(folder / target).as_posix() for folder in (own.parent, Path(own.parts[0]), Path())]
            known = next((place for place in places if place in names), None)
            if known or target.startswith("zemm/"):
                found.append(known or target)
    return graph


def layer_of(file: str) -> str:
    folder = file.split("/")[0]
    return LISTS if file.endswith(".def") and folder not in SHARED else folder


def rising(graph: Graph, order: list[str]) -> list[str]:
    """Includes that lead to a higher layer."""
    rank = {layer: i for i, layer in enumerate([*order, "zemm", LISTS])}
    wrong = []
    for file, targets in graph.items():
        layer = layer_of(file)
        if layer not in rank and layer != APART:
            wrong.append(f"{file}: {layer} is no layer")
        for target in targets:
            to = layer_of(target)
            if layer in (APART, LISTS):
                allowed = layer == APART and to in (APART, *SHARED)
            else:
                allowed = rank.get(layer, 0) <= rank.get(to, -1)
            if not allowed:
                wrong.append(f"{file} includes {target}")
    return wrong


def room_of(file: str, folder: str) -> str | None:
    """The room of a file, "" if it is in the folder but in no room, None if it is elsewhere."""
    parts = file.split("/")
    return None if parts[0] != folder or file.endswith(".def") else "/".join(parts[1:-1][:1])


def rising_rooms(graph: Graph, folder: str, order: list[str]) -> list[str]:
    """Includes that lead to a higher room of the folder."""
    wrong = []
    for file, targets in graph.items():
        room = room_of(file, folder)
        if room is None:
            continue
        if room not in order:
            wrong.append(f"{file}: {room or 'the folder'} is no room of {folder}")
            continue
        for target in targets:
            to = room_of(target, folder)
            if to in order and order.index(to) < order.index(room):
                wrong.append(f"{file} includes {target}")
    return wrong


def circle(graph: Graph) -> list[str]:
    """Files of which each includes the next and the last includes the first; empty if there is no
    circle.
    """
    done: set[str] = set()

    def search(file: str, path: list[str]) -> list[str]:
        if file in path:
            return path[path.index(file) :]
        if file not in done:
            for target in graph.get(file, []):
                if found := search(target, [*path, file]):
                    return found
            done.add(file)
        return []

    return next((found for file in graph if (found := search(file, []))), [])


def test_includes_fall() -> None:
    order = layers((ROOT / "docs" / "design.md").read_text(encoding="utf-8"))
    graph = include_graph(ROOT / "src")
    used = {layer_of(file) for file in graph} - {APART, LISTS}
    assert sorted(order) == sorted(used), "the layers of docs/design.md are not the folders of src"
    assert sum(len(targets) for targets in graph.values()) > 500  # the includes were found
    assert not rising(graph, order)
    assert not circle(graph)


def test_includes_fall_within_folders() -> None:
    graph = include_graph(ROOT / "src")
    for folder, order in rooms(documents()).items():
        used = {room for file in graph if (room := room_of(file, folder)) is not None}
        assert sorted(order) == sorted(used), f"the list of rooms is not that of src/{folder}"
        assert not rising_rooms(graph, folder, order)


DESIGN = """# Design

## Layers
```
src/top/     calls
      |
src/middle/  shares
src/bottom/  knows nothing, src/top/ least of all
src/trust/   shared
src/isa/     a list, shared
  \\
   src/cpu_driver/: apart
```
src/middle/ is no list of rooms. These are:
```
src/top/     roof > attic
src/bottom/  floor >  carpet
             > cellar
```
"""

GOOD = {
    "cpu_driver/h.cpp": '#include "trust/i.h"\n#include "isa/rows.def"\n',
    "isa/rows.def": "ROW(1)\n",
    "trust/i.h": "",
    "top/a.cpp": '#include "top/a.hpp"\n#include <vector>\n#include "zemm/zemm.h"\n',
    "top/a.hpp": '#include "bottom/c.hpp"\n#  include "middle/b.hpp"\n',
    "middle/b.hpp": '// #include "top/a.hpp"\n#include "bottom/c.hpp"\n#include "made_by_the_build.h"\n',
    "middle/sub/d.h": '#include "e.h"\n',
    "middle/e.h": "",
    "bottom/c.hpp": '#pragma once\n#include "top/rows.def"\n#include "isa/rows.def"\n',
    "top/rows.def": "ROW(1)\n",
    "cpu_driver/f.cpp": '#include "g.h"\n',
    "cpu_driver/g.h": "",
}


def tree(folder: Path, changed: dict[str, str]) -> Graph:
    for name, text in {**GOOD, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return include_graph(folder)


def test_a_good_tree(tmp_path: Path) -> None:
    order = layers(DESIGN)
    assert order == ["top", "middle", "bottom", "trust", "isa"]
    graph = tree(tmp_path, {})
    assert graph["top/a.hpp"] == ["bottom/c.hpp", "middle/b.hpp"]
    assert graph["middle/sub/d.h"] == ["middle/e.h"]
    assert not rising(graph, order)
    assert not circle(graph)


@pytest.mark.parametrize(
    ("file", "include", "says"),
    [
        ("bottom/c.hpp", "middle/e.h", "bottom/c.hpp includes middle/e.h"),
        ("middle/sub/d.h", "top/a.hpp", "middle/sub/d.h includes top/a.hpp"),
        ("cpu_driver/f.cpp", "bottom/c.hpp", "cpu_driver/f.cpp includes bottom/c.hpp"),
        ("cpu_driver/f.cpp", "zemm/zemm.h", "cpu_driver/f.cpp includes zemm/zemm.h"),
        ("top/a.cpp", "cpu_driver/g.h", "top/a.cpp includes cpu_driver/g.h"),
        ("cpu_driver/f.cpp", "top/rows.def", "cpu_driver/f.cpp includes top/rows.def"),
        ("top/rows.def", "bottom/c.hpp", "top/rows.def includes bottom/c.hpp"),
        ("isa/rows.def", "bottom/c.hpp", "isa/rows.def includes bottom/c.hpp"),
        ("trust/i.h", "cpu_driver/g.h", "trust/i.h includes cpu_driver/g.h"),
        ("new/h.cpp", "bottom/c.hpp", "new/h.cpp: new is no layer"),
    ],
)
def test_a_planted_arrow_is_found(tmp_path: Path, file: str, include: str, says: str) -> None:
    graph = tree(tmp_path, {file: f'#pragma once\n#include "{include}"\n'})
    assert rising(graph, layers(DESIGN)) == [says]


@pytest.mark.parametrize("target", ["e.h", "sub/d.h"])
def test_a_planted_circle_is_found(tmp_path: Path, target: str) -> None:
    graph = tree(tmp_path, {"middle/e.h": f'#include "{target}"\n'})
    assert not rising(graph, layers(DESIGN))  # the circle is within a layer
    assert set(circle(graph)) == {"middle/e.h", f"middle/{target}"}


def test_rooms() -> None:
    assert rooms(DESIGN) == {"top": ["roof", "attic"], "bottom": ["floor", "carpet", "cellar"]}


@pytest.mark.parametrize(
    ("file", "include", "says"),
    [
        ("bottom/floor/a.h", "bottom/cellar/z.h", ""),
        ("bottom/cellar/a.h", "z.h", ""),
        ("bottom/cellar/a.h", "floor/y.h", "bottom/cellar/a.h includes bottom/floor/y.h"),
        ("bottom/cellar/deep/a.h", "bottom/floor/y.h", "bottom/cellar/deep/a.h includes bottom/floor/y.h"),
        ("bottom/garden/a.h", "z.h", "bottom/garden/a.h: garden is no room of bottom"),
        ("bottom/a.h", "cellar/z.h", "bottom/a.h: the folder is no room of bottom"),
        ("bottom/rows.def", "", ""),
        ("middle/a.h", "bottom/floor/y.h", ""),
    ],
)
def test_rooms_of_a_folder(tmp_path: Path, file: str, include: str, says: str) -> None:
    texts = {"bottom/floor/y.h": "", "bottom/cellar/z.h": "", file: f'#include "{include}"\n'}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = rising_rooms(include_graph(tmp_path), "bottom", rooms(DESIGN)["bottom"])
    assert found == ([says] if says else [])
