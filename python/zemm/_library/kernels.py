# SPDX-License-Identifier: Apache-2.0
"""The kernels, as the build lists them in kernels.json."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from zemm._library.lists import FAMILIES
from zemm._library.package_files import package_file


@dataclass(frozen=True)
class Row:
    """A row of kernels.def. The beginning of that file explains the columns."""

    name: str
    src: str
    tile_m: int
    tile_n: int
    tile_k: int
    rows: int  # that the policy multiplies at once
    policy: str
    owner: str  # of a tile: work_item or sub_group
    work_items: int  # of an owner
    family: str  # in src/lists/isa.def
    operands: str  # what it multiplies: int8, half, tf32 or f32
    weights: str
    predicate: str  # in src/matmul/choose/predicates.hpp
    feature: str | None  # that the predicate wants of the device

    @property
    def is_xe(self) -> bool:
        """Whether the row is for Intel GPUs."""
        return self.owner == "sub_group"

    @property
    def has_dots(self) -> bool:
        """Whether it multiplies by DPAS or DP4A, by which its K loop is found and its utilisation
        is computed."""
        return self.family not in ("xe_fma16", "xe_fma8")

    @property
    def has_tiles(self) -> bool:
        """Whether it multiplies tiles of AMX. Its policy then has the name of the feature."""
        return self.family.startswith("amx_")

    @property
    def unit(self) -> str:
        """The unit that multiplies (ZEMM_UNIT in src/lists/isa.def), by which its limit is named."""
        unit: str = FAMILIES[self.family]["unit"]
        return f"{unit}_{self.operands}" if unit == "xmx" else unit

    @property
    def is_dp4a(self) -> bool:
        return self.family == "xe_dp4a"

    @property
    def block2d(self) -> bool:
        """Whether it uses 2-D block loads."""
        return self.feature == "block_2d"


def kernels(path: Path | None = None) -> list[dict[str, Any]]:
    """All kernels, in the order of dispatch, from the list that the build installs with the
    package."""
    path = path or package_file("kernels.json")
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def rows(path: Path | None = None) -> list[Row]:
    """The matmul kernels, in the order of dispatch."""
    names = [field.name for field in fields(Row)]
    return [
        Row(**{name: kernel[name] for name in names})
        for kernel in kernels(path)
        if kernel["kind"] == "matmul"
    ]
