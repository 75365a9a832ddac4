# SPDX-License-Identifier: Apache-2.0
"""Runs a mixture of experts for one number of tokens as one call of the extension: sorts rows by expert,
gathers them, multiplies them, gates them, multiplies them again and adds them up for each token."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._layers.call import aligned, keep_in_flight
from zemm._layers.gate import Gate
from zemm._layers.primitives import recent
from zemm._library.experts import experts_call, run_experts
from zemm._library.library import value_of
from zemm._terminal import building
from zemm.dtypes import numpy_dtype
from zemm.linear import Linear
from zemm.words import DataType

_MOST_KEPT = 1 << 26  # bytes of scratch that a thread keeps from one call to the next


class _Scratch(threading.local):
    """The scratch of a thread, which all its calls share: fresh pages would take longer than many a call."""

    kept: NDArray[np.uint8] = np.empty(0, np.uint8)

    def take(self, size: int) -> NDArray[np.uint8]:
        if size <= len(self.kept):
            return self.kept
        room = np.empty(size + aligned(1), np.uint8)
        made = room[-room.ctypes.data % aligned(1) :]
        if size <= _MOST_KEPT:
            self.kept = made
        return made


_scratch = _Scratch()


class ExpertsCall:
    """tokens by top_k rows. x_type, y_type: of x and y, f32, f16 or bf16. The rows between the products have
    the type that up gives for x_type."""

    def __init__(
        self,
        up: Linear,
        down: Linear,
        gate: Gate,
        tokens: int,
        top_k: int,
        x_type: DataType,
        y_type: DataType,
    ) -> None:
        rows = tokens * top_k
        gathered = up._src_dtype(x_type)
        products = up._dst_dtype(x_type)
        gated, results = down._src_dtype(products), down._dst_dtype(products)
        self._up = up._calls.get(rows, gathered, products, None, True)
        self._down = down._calls.get(rows, gated, results, None, True)
        self._size = 0
        matrices = {
            "gathered": self._matrix(rows, gathered, up.in_features),
            "products": self._matrix(rows, products, up.out_features),
            "results": self._matrix(rows, results, down.out_features),
        }
        matrices["gated"] = (
            (gated, down.in_features, matrices["products"][2])  # in their places
            if gated == products
            else self._matrix(rows, gated, down.in_features)
        )
        assert up.experts is not None
        self._call, keep = experts_call(
            (self._up.layer_call[0], self._down.layer_call[0]),
            matrices,
            gate=gate.values,
            tokens=tokens,
            top_k=top_k,
            nexperts=up.experts,
            x_type=x_type,
            y_type=y_type,
            sizes_at=self._take(8 * up.experts),
            places_at=self._take(8 * rows),
            spare_at=self._take(4 * down.in_features),
            up_scratch_at=self._take(self._up.scratch_size),
            down_scratch_at=self._take(self._down.scratch_size),
        )
        self._has_run = False
        self._keep = self._up.keep, self._down.keep, self._call, keep

    def _take(self, size: int) -> int:
        """So many bytes of the scratch. Returns where they begin."""
        at = self._size
        self._size += aligned(size)
        return at

    def _matrix(self, rows: int, data_type: DataType, width: int) -> tuple[DataType, int, int]:
        return data_type, width, self._take(rows * width * numpy_dtype(data_type).itemsize)

    def run(self, weights_type: DataType, **tensors: Any) -> bool:
        """tensors: the fields of experts_tensors (experts.h) without the scratch, pointers to dense tensors.
        Whether all experts of the index are there; otherwise nothing was done."""
        tensors["weights_type"] = value_of("data_type", weights_type)
        stream = self._up.own_stream
        scratch = _scratch.take(self._size)
        try:
            if self._has_run:
                return run_experts(self._call, tensors, scratch, stream._handle)
            with building.watched(self._names):
                done = run_experts(self._call, tensors, scratch, stream._handle)
        except BaseException:
            keep_in_flight(stream, (tensors, scratch, self._keep))  # work may still use them
            raise
        self._has_run = done
        return done

    def _names(self) -> str:
        return f"{self._up.impl_info}, {self._down.impl_info}"


def call_of(
    up: Linear, down: Linear, gate: Gate, tokens: int, top_k: int, x_type: DataType, y_type: DataType
) -> "ExpertsCall":
    """This thread's call for so many tokens."""
    key = down._calls, gate, tokens, top_k, x_type, y_type
    return recent(
        up._calls.kept.experts, key, lambda: ExpertsCall(up, down, gate, tokens, top_k, x_type, y_type)
    )
