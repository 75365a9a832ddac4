# SPDX-License-Identifier: Apache-2.0
"""Formats of integers in groups, whose config may give some layers other bits or another group."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from zemm.torch._expert_places import Place
from zemm.transformers._checkpoint import Checkpoint
from zemm.transformers._formats.entries import CONFIG, entry, group_setting, objects, setting
from zemm.transformers._formats.format import Format
from zemm.transformers._formats.patterns import pattern


class GroupedFormat(Format):
    """`dynamic` has the exceptions: a regular expression for the beginning of names, with the settings of
    those layers, or with "-:" before it for layers that are not quantised. The first that fits counts."""

    method: ClassVar[str]
    bits: ClassVar[tuple[int, ...]]

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self._dynamic: list[tuple[str, Callable[[str], bool], Mapping[str, Any]]] = []
        for name, override in objects(config, "dynamic").items():
            fits = pattern(name.removeprefix("+:").removeprefix("-:"), f"dynamic of {CONFIG}")
            # A value of null stands for that of the whole checkpoint.
            own = {key: value for key, value in override.items() if value is not None}
            self._settings(own, f"{name!r} of dynamic of {CONFIG}")
            self._dynamic.append((name, fits, own))
        for key in ("desc_act", "sym", "zero_point"):
            entry(config, key, bool)
        self._settings({}, CONFIG)

    def settings_of(self, name: str) -> tuple[int, int]:
        """The bits and the group_size of a layer."""
        return self._settings(self._override(name) or {}, f"the quantization_config of {name}")

    def _settings(self, override: Mapping[str, Any], where: str) -> tuple[int, int]:
        config = {**self.config, **override}
        bits: int = setting(config, "bits", self.bits, None, self.method, where)
        return bits, group_setting(config, where=where)

    def skips(self, name: str) -> bool:
        return self._override(name) is None

    def _override(self, name: str) -> Mapping[str, Any] | None:
        for key, fits, override in self._dynamic:
            if any(map(fits, self.names_of(name))):
                return None if key.startswith("-:") else override
        return {}

    def is_stored(self, place: Place, checkpoint: Checkpoint) -> bool:
        """Layers of floats may have sizes that the format cannot store."""
        return any(f"{place.name}.{key}" in checkpoint for key in ("qweight", "qzeros", "scales"))

    def reason(self, place: Place) -> str:
        bits, group = self.settings_of(place.name)
        return f"{self.method} of {bits} bits and group_size {group}"
