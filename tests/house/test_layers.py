# SPDX-License-Identifier: Apache-2.0
"""The include graph of src follows the layers of docs/design.md from higher to lower layers, within a
folder its rooms, which documents list, from higher to lower rooms, and has no circle.
"""

import re
from pathlib import Path

from support_tree import ROOT

SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".cl", ".def"}
APART = "cpu_driver"  # a library of its own: neither it nor zemm includes anything of the other,
SHARED = ("trust", "stack", "lists")  # except that both include these layers
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
    found = re.findall(rf"^{top}/([\w/]+)/\s+(\w+(?:\s+>\s+\w+)+)$", text, re.M)
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
    return file.split("/")[0]


def rising(graph: Graph, order: list[str]) -> list[str]:
    """Includes that lead to a higher layer."""
    rank = {layer: i for i, layer in enumerate([*order, "zemm"])}
    wrong = []
    for file, targets in graph.items():
        layer = layer_of(file)
        if layer not in rank and layer != APART:
            wrong.append(f"{file}: {layer} is no layer")
        for target in targets:
            to = layer_of(target)
            falls = rank.get(layer, 0) <= rank.get(to, -1)
            if to not in (APART, *SHARED) if layer == APART else not falls:
                wrong.append(f"{file} includes {target}")
    return wrong


def room_of(file: str, folder: str) -> str | None:
    """The room of a file, "" if it is in the folder but in no room, None if it is elsewhere."""
    if not file.startswith(f"{folder}/"):
        return None
    room, slash, _ = file[len(folder) + 1 :].partition("/")
    return room if slash else ""


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


def units(graph: Graph) -> Graph:
    """The graph of units: a file together with the one of the same name and another ending."""
    found: Graph = {}
    for file, targets in graph.items():
        unit = file.rsplit(".", 1)[0]
        others = {target.rsplit(".", 1)[0] for target in targets} - {unit}
        found[unit] = sorted({*found.get(unit, []), *others})
    return found


def reached(graph: Graph, start: str) -> set[str]:
    """The units that a unit includes, directly or through others."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = set(graph.get(waiting.pop(), [])) - found
        found |= new
        waiting += new
    return found


def test_circles_of_units() -> None:
    graph = units(include_graph(ROOT / "src"))
    assert not [unit for unit in graph if unit in reached(graph, unit)]


def test_includes_fall() -> None:
    order = layers((ROOT / "docs" / "design.md").read_text(encoding="utf-8"))
    graph = include_graph(ROOT / "src")
    used = {layer_of(file) for file in graph} - {APART}
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
