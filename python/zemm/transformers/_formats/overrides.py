# SPDX-License-Identifier: Apache-2.0
"""Formats of integers in groups, whose config may give some layers other bits or another group."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from zemm.transformers._checkpoint import Checkpoint
from zemm.transformers._formats.format import Format, Place, group_setting, setting


class GroupedFormat(Format):
    """`dynamic` has the exceptions: a regular expression for the beginning of names, with the settings of
    those layers, or with "-:" before it for layers that are not quantised. The first that fits counts."""

    method: ClassVar[str]
    bits: ClassVar[tuple[int, ...]]

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config)
        self._dynamic: Mapping[str, Any] = config.get("dynamic") or {}
        self.settings_of("")

    def settings_of(self, name: str) -> tuple[int, int]:
        """The bits and the group_size of a layer."""
        config = {**self.config, **(self._override(name) or {})}
        return setting(config, "bits", self.bits, None, self.method), group_setting(config)

    def skips(self, name: str) -> bool:
        return self._override(name) is None

    def _override(self, name: str) -> Mapping[str, Any] | None:
        for pattern, override in self._dynamic.items():
            regex = pattern.removeprefix("+:").removeprefix("-:")
            if any(re.match(regex, own) for own in self.names_of(name)):
                return None if pattern.startswith("-:") else override
        return {}

    def is_stored(self, place: Place, checkpoint: Checkpoint) -> bool:
        """Layers of floats may have sizes that the format cannot store."""
        return any(f"{place.name}.{key}" in checkpoint for key in ("qweight", "qzeros", "scales"))

    def reason(self, place: Place) -> str:
        bits, group = self.settings_of(place.name)
        return f"{self.method} of {bits} bits and group_size {group}"
