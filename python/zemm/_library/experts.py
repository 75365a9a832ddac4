# SPDX-License-Identifier: Apache-2.0
"""The extension's calls for experts (experts.h). Like library.py it uses the cffi module."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._library.library import check_status, ffi, lib, value_of

_MATRICES = ("gathered", "products", "gated", "results")


def experts_call(
    layers: tuple[Any, Any], matrices: Mapping[str, tuple[str, int, int]], **fields: Any
) -> tuple[Any, Any]:
    """An experts_call, and what to keep alive as long as it. layers: layer_calls, which the caller keeps.
    matrices: type, width and place in the scratch. fields: the other ones; types and the gate by name."""
    for name in ("x_type", "y_type"):
        fields[name] = value_of("data_type", fields[name])
    for name in _MATRICES:
        data_type, width, at = matrices[name]
        fields[name] = {"type": value_of("data_type", data_type), "width": width, "at": at}
    return ffi.new("experts_call *", {"up": layers[0], "down": layers[1], **fields}), layers


def run_experts(call: Any, tensors: Mapping[str, Any], scratch: NDArray[np.uint8], stream: Any) -> bool:
    """Run an experts_call and wait for it. tensors: the fields of experts_tensors. Whether all experts of the
    index are there; otherwise nothing was done."""
    of_call = ffi.new("experts_tensors *", {**tensors, "scratch": ffi.from_buffer("char[]", scratch)})
    status = lib.experts_run(call, of_call, stream)
    if status > 0:
        check_status(status)
    return bool(status == 0)


def gate_rows(gate: Mapping[str, Any], rows: NDArray[np.float32], made: NDArray[np.float32]) -> None:
    """made = gate(rows), both dense. gate: the fields of experts_gate."""
    of_rows, of_made = ffi.from_buffer("float[]", rows), ffi.from_buffer("float[]", made)
    lib.experts_gate_rows(ffi.new("experts_gate *", gate), of_rows, of_made, *made.shape)
