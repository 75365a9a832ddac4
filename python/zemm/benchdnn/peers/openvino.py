# SPDX-License-Identifier: Apache-2.0
"""OpenVINO as a peer: f32 activations, which its CPU plugin may quantise, and f32, 8- or 4-bit
weights."""

from pathlib import Path
from typing import Any

import numpy as np

from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.peers import missing, thread_count
from zemm.benchdnn.peers.cold import flusher
from zemm.benchdnn.peers.weight_only import Matrices, bits_of, matrices, packed

_QUANTISED_GROUP = 128
# The fpmath modes in which products of f32 may be computed in bf16.
_IN_BF16 = ("bf16", "any")


class OpenVino:
    """The imported package."""

    def __init__(self, openvino: Any) -> None:
        self._openvino = openvino
        # It ignores the group size on a CPU without dot products of bytes.
        self.quantises_src = "vnni" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
        self.version = openvino.__version__
        self._core = openvino.Core()

    def prepare(self, case: Case, quantise_src: bool = False) -> "Model":
        """The compiled model of a case."""
        types = ("f32", "u8", "s8", "u4", "s4")
        found = matrices(case, ("f32",), types, ("f32",), quantises_src=quantise_src)
        wanted = case.attributes.src_dyn_quant or _QUANTISED_GROUP
        group = min(found.group, wanted) if quantise_src else 0
        return Model(self._openvino, self._core, case, found, group)


class Model:
    """A compiled model with its input set. src_group: how many elements of src are quantised with
    one scale; 0: src is not quantised."""

    def __init__(self, ov: Any, core: Any, case: Case, found: Matrices, src_group: int) -> None:
        from openvino import opset13 as ops

        x = ops.parameter(list(found.src.shape), ov.Type.f32, name="x")
        self._kept: list[Any] = []  # arrays whose memory the model's constants use
        weights = _weights(ov, ops, case.dt[1], found, self._kept)
        model = ov.Model([ops.matmul(x, weights, False, True)], [x])
        config = {
            "INFERENCE_NUM_THREADS": thread_count(),
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "bf16" if case.attributes.fpmath.mode in _IN_BF16 else "f32",
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": src_group,
        }
        compiled = core.compile_model(model, "CPU", config)
        self.impl = _implementation(compiled)
        if found.weights.dtype != np.float32:
            self.impl += f" dynamic_quantization_group_size {src_group}"
        self._request = compiled.create_infer_request()
        self._src = np.ascontiguousarray(found.src)
        self._request.set_input_tensor(ov.Tensor(self._src, shared_memory=True))
        self.cool = flusher(case.options.cold_cache, self._src.copy)

    def run(self) -> None:
        self._request.infer(share_outputs=True)

    def dst(self) -> Floats:
        """The result of the last run."""
        result: Floats = self._request.get_output_tensor().data.copy()
        return result


def _weights(ov: Any, ops: Any, dt: str, found: Matrices, kept: list[Any]) -> Any:
    """The node of the weights [N, K]: a constant for f32, else (code - zero point) * scale by
    groups. kept: gets the arrays whose memory the constants use."""
    k, n = found.weights.shape
    if dt == "f32":
        return ops.constant(np.ascontiguousarray(found.weights.T))
    kind = getattr(ov.Type, {"u8": "u8", "s8": "i8", "u4": "u4", "s4": "i4"}[dt])
    groups = k // found.group

    def stored(codes: Any, shape: list[int]) -> Any:
        raw = packed(np.ascontiguousarray(codes).reshape(1, -1), bits_of(dt)).reshape(-1)
        kept.append(raw)
        return ops.constant(ov.Tensor(raw, ov.Shape(shape), kind))

    grouped = [n, groups, found.group]
    value = ops.convert(stored(found.weights.T.reshape(grouped), grouped), "f32")
    if found.zero_points is not None:
        points = stored(found.zero_points.T, [n, groups, 1])
        value = ops.subtract(value, ops.convert(points, "f32"))
    if found.scales is not None:
        scales = np.ascontiguousarray(found.scales.T, np.float32).reshape(n, groups, 1)
        value = ops.multiply(value, ops.constant(scales))
    return ops.reshape(value, ops.constant(np.array([n, k], np.int64)), False)


def _implementation(compiled: Any) -> str:
    """The plugin's name of the primitive that computes the matrix product."""
    for op in compiled.get_runtime_model().get_ops():
        info = op.get_rt_info()
        if "layerType" in info and info["layerType"].astype(str) in ("FullyConnected", "MatMul"):
            return f"{info['layerType'].astype(str)} {info['primitiveType'].astype(str)}"
    return "unknown"


def load() -> OpenVino:
    """Load OpenVINO from its package."""
    try:
        import openvino
    except ImportError as error:
        raise missing("openvino", "openvino", error) from None
    return OpenVino(openvino)
