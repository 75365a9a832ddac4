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
import zemm
from support_tree import ROOT
from test_layers import Graph, circle, documents, rooms

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
    """The modules that a file imports. Relative imports are not used in this package."""
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


def layer_of(module: str, package: str) -> str:
    """The module or folder of the package's floor that a module is in; "" if it is elsewhere."""
    if module == PACKAGE == package:
        return PACKAGE  # its __init__.py has a place in the list
    return module.removeprefix(f"{package}.").split(".")[0] if module.startswith(f"{package}.") else ""


def rising(graph: Graph, order: list[str], package: str) -> list[str]:
    rank = {name: i for i, name in enumerate(order)}
    layers = {module: layer_of(module, package) for module in graph}
    return [
        f"{module} imports {target}"
        for module, targets in graph.items()
        for target in targets
        if layers[module] and layers[target] and rank[layers[module]] > rank[layers[target]]
    ]


def test_imports_fall() -> None:
    graph = import_graph(ROOT / "python")
    assert sum(len(targets) for targets in graph.values()) > 300  # the imports were found
    graph[UPWARD[0]].remove(UPWARD[1])
    lists = {PACKAGE: rooms(documents(), "python")[PACKAGE]}
    lists |= {f"{PACKAGE}.{name}": order for name, order in rooms(documents(), f"python/{PACKAGE}").items()}
    assert len(lists) > 1
    for package, order in lists.items():
        assert sorted(order) == sorted({layer_of(module, package) for module in graph} - {""})
        assert not rising(graph, order, package)
    assert not circle(graph)


def test_the_floor_is_public() -> None:
    """Private modules are in rooms."""
    names = {path.stem for path in (ROOT / "python" / PACKAGE).glob("*.py")}
    assert not [name for name in names if name.startswith("_") and not name.startswith("__")]


def test_a_call_meets_few_files() -> None:
    """Who follows a call of zemm.matmul() whose kernel is built reads at most ten files."""
    x, w = np.ones((2, 128), np.float32), np.ones((128, 8), np.float32)
    values, scales, reductions = zemm.quantize_activations(x)
    weights, weights_scales, zero_points = zemm.quantize_weights(w, bits=8)
    package = Path(zemm.__file__).parent
    met = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and package in path.parents:
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
