# SPDX-License-Identifier: Apache-2.0
"""The report of quantize_(): a table with each layer of a model."""

from collections.abc import Iterator
from dataclasses import dataclass

from zemm._terminal.columns import aligned


@dataclass(frozen=True)
class QuantizedLayer:
    """A layer of a model. k, n: of its weights [K, N]. bits, group: what it was given; None: it stays as it
    was, and `note` says why. nbytes_before, nbytes_after: of its weights and bias; bytes that layers share
    count at the first of them."""

    name: str
    kind: str
    k: int
    n: int
    bits: int | None
    group: int | None
    nbytes_before: int
    nbytes_after: int
    note: str = ""

    @property
    def is_replaced(self) -> bool:
        return self.bits is not None


@dataclass(frozen=True, repr=False)
class QuantizeReport:
    """The layers in the model's order. It prints as a table."""

    layers: tuple[QuantizedLayer, ...]

    def __iter__(self) -> Iterator[QuantizedLayer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, name: str) -> QuantizedLayer:
        """The layer with a name."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    @property
    def replaced(self) -> tuple[QuantizedLayer, ...]:
        return tuple(layer for layer in self.layers if layer.is_replaced)

    @property
    def skipped(self) -> tuple[QuantizedLayer, ...]:
        return tuple(layer for layer in self.layers if not layer.is_replaced)

    @property
    def nbytes_before(self) -> int:
        return sum(layer.nbytes_before for layer in self.layers)

    @property
    def nbytes_after(self) -> int:
        return sum(layer.nbytes_after for layer in self.layers)

    def __repr__(self) -> str:
        rows = [("layer", "type", "K", "N", "bits", "group", "before", "after", "")]
        rows += [
            (
                layer.name,
                layer.kind,
                str(layer.k),
                str(layer.n),
                "-" if layer.bits is None else str(layer.bits),
                "-" if layer.group is None else str(layer.group),
                _size(layer.nbytes_before),
                _size(layer.nbytes_after),
                layer.note,
            )
            for layer in self.layers
        ]
        count = f"{len(self.replaced)} of {len(self.layers)} replaced"
        rows.append((count, "", "", "", "", "", _size(self.nbytes_before), _size(self.nbytes_after), ""))
        return aligned(rows, right=range(2, 8))


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:.2f} MB" if nbytes >= 1e4 else f"{nbytes} B"
