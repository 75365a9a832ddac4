# SPDX-License-Identifier: Apache-2.0
"""The quick tier has each row and each fact that any row takes, and each value of tests marked each_value."""

from collections.abc import Callable
from itertools import product
from types import SimpleNamespace

import pytest
from support_cases import PROBLEMS, Problem
from support_rows import CPU_ROWS, XE_ROWS
from support_tiers import few_facts, is_quick_pair, loose_facts, takes


@pytest.mark.parametrize(
    ("rows", "facts"), [(CPU_ROWS, loose_facts), (XE_ROWS, few_facts)], ids=["cpu", "xe"]
)
def test_kernels(rows: list[str], facts: Callable[[Problem], set[str]]) -> None:
    able = [(row, name) for row, name in product(rows, PROBLEMS) if takes(row, PROBLEMS[name])]
    quick = [pair for pair in able if is_quick_pair(*pair)]
    assert {row for row, _ in quick} == {row for row, _ in able}
    shown, all_facts = (set().union(*(facts(PROBLEMS[name]) for _, name in pairs)) for pairs in (quick, able))
    assert shown == all_facts
    assert len(quick) < len(able) / 10


class Item:
    """A case of a test of x, and of y with z, as pytest has it."""

    nodeid = "test_of.py::test_all[1-2-3]"

    def __init__(self, x: int, y: int, z: int) -> None:
        self.callspec = SimpleNamespace(params={"x": x, "y": y, "z": z})

    def get_closest_marker(self, name: str) -> bool:
        return name == "each_value"

    def iter_markers(self, name: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(args=[names]) for names in ("x", ["y", "z"])]


def test_each_value(request: pytest.FixtureRequest) -> None:
    conftest = next(
        module for module in request.config.pluginmanager.get_plugins() if hasattr(module, "with_each_value")
    )
    items = [Item(x, y, z) for x in range(5) for y, z in ((1, 1), (1, 2), (2, 1))]
    kept = [item.callspec.params for item in conftest.with_each_value(items)]
    assert {of["x"] for of in kept} == set(range(5))
    assert {(of["y"], of["z"]) for of in kept} == {(1, 1), (1, 2), (2, 1)}
    assert len(kept) == 5
