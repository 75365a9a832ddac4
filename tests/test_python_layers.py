# SPDX-License-Identifier: Apache-2.0
"""The imports among the modules of the Python package follow the list in CONTRIBUTING.md from higher to
lower modules and folders, and make no circle. Imports in functions and for types count, too.
"""

import ast
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import zemm
from test_layers import Graph, circle, documents, rooms

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "zemm"
# zemm.warm() takes the case lines of zemm-benchdnn, a program that runs on zemm.
UPWARD = ("zemm._functions.warm", "zemm.tune.warming")


def import_graph(folder: Path) -> Graph:
    """The modules of the package that each of its modules imports, by their names."""
    paths = {module_of(path.relative_to(folder)): path for path in sorted(folder.glob(f"{PACKAGE}/**/*.py"))}
    return {name: imports(path, paths.keys()) for name, path in paths.items()}


def module_of(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path, modules: Any) -> list[str]:
    """Those of the modules that a file imports. Relative imports are not used in this package."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{name.name}" for name in node.names] + [node.module or ""]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            found += [word.value for word in node.args if isinstance(word, ast.Constant)]
    # `from zemm.linear import Linear` runs linear.py; the packages around it import nothing of it.
    exact = [name for name in found if name in modules]
    return [name for name in exact if not any(other.startswith(f"{name}.") for other in exact)]


def layer_of(module: str) -> str:
    """The module or folder of the package's floor that a module is in, or the package itself."""
    return module.split(".")[1] if "." in module else module


def rising(graph: Graph, order: list[str]) -> list[str]:
    return [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in targets
        if order.index(layer_of(module)) > order.index(layer_of(target))
    ]


def listed() -> list[str]:
    return rooms(documents(), "python")[PACKAGE]


def test_imports_fall() -> None:
    graph = import_graph(ROOT / "python")
    assert sum(len(targets) for targets in graph.values()) > 300  # the imports were found
    graph[UPWARD[0]].remove(UPWARD[1])
    assert sorted(listed()) == sorted({layer_of(module) for module in graph})
    assert not rising(graph, listed())
    assert not circle(graph)


def test_the_floor_is_public() -> None:
    """Private modules are in rooms."""
    names = {path.stem for path in (ROOT / "python" / PACKAGE).glob("*.py")}
    assert not [name for name in names if name.startswith("_") and not name.startswith("__")]


GOOD = {
    "zemm/__init__.py": "from zemm.top import call\n",
    "zemm/top.py": "from zemm._room import low, high\nimport numpy\n",
    "zemm/_room/__init__.py": "",
    "zemm/_room/high.py": "from zemm._room.low import value\n",
    "zemm/_room/low.py": "import os\n",
    "zemm/base.py": "",
}
ORDER = ["zemm", "top", "_room", "base"]


def tree(folder: Path, changed: dict[str, str]) -> Graph:
    for name, text in {**GOOD, **changed}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return import_graph(folder)


def test_a_good_tree(tmp_path: Path) -> None:
    graph = tree(tmp_path, {})
    assert graph["zemm"] == ["zemm.top"]
    assert sorted(graph["zemm.top"]) == ["zemm._room.high", "zemm._room.low"]
    assert graph["zemm._room.high"] == ["zemm._room.low"]
    assert not rising(graph, ORDER)
    assert not circle(graph)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("from zemm.top import call\n", "zemm.top"),
        ("import zemm.top\n", "zemm.top"),
        ("from zemm import top\n", "zemm.top"),
        ("import zemm\n", "zemm"),
        ("def f():\n    from zemm.top import call\n", "zemm.top"),
        ("if TYPE_CHECKING:\n    from zemm._room.low import value\n", "zemm._room.low"),
        ("import importlib\nmodule = importlib.import_module('zemm')\n", "zemm"),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, text: str, target: str) -> None:
    assert rising(tree(tmp_path, {"zemm/base.py": text}), ORDER) == [f"zemm.base imports {target}"]


def test_a_planted_circle_is_found(tmp_path: Path) -> None:
    graph = tree(tmp_path, {"zemm/_room/low.py": "def f():\n    from zemm._room import high\n"})
    assert not rising(graph, ORDER)
    assert set(circle(graph)) == {"zemm._room.high", "zemm._room.low"}


def test_a_call_meets_few_files() -> None:
    """Who follows a call of zemm.matmul() whose kernel is built reads at most ten files."""
    x, w = np.ones((2, 128), np.float32), np.ones((128, 8), np.float32)
    values, scales, reductions = zemm.quantize_activations(x)
    weights, weights_scales, zero_points = zemm.quantize_weights(w, bits=8)
    met = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parts:
            met.add(path)

    for _ in range(2):
        met.clear()
        sys.setprofile(note)
        try:
            zemm.matmul(
                values,
                weights,
                src_scales=scales,
                weights_scales=weights_scales,
                weights_zero_points=zero_points,
                reductions=reductions,
            )
        finally:
            sys.setprofile(None)
    assert 0 < len(met) <= 10, sorted(map(str, met))
