# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime as a peer: MatMulNBits (f32 src, 4- or 8-bit weights), MatMulInteger and MatMul."""

from typing import Any

import numpy as np

from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.peers import PeerError, missing, thread_count
from zemm.benchdnn.peers.cold import flusher
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.weight_only import Matrices, bits_of, matrices, packed

# The attribute accuracy_level of MatMulNBits: what src is multiplied as.
_AS_F32, _AS_INT8 = 1, 4
_OPSET, _IR = 21, 10


class OnnxRuntime:
    """The imported packages onnx and onnxruntime."""

    quantises_src = True

    def __init__(self, onnx: Any, onnxruntime: Any) -> None:
        self._onnx, self._onnxruntime = onnx, onnxruntime
        self.version = onnxruntime.__version__

    def prepare(self, case: Case, quantise_src: bool = False) -> "Session":
        """The session of a case."""
        if case.dt[0] == "f32":
            found = matrices(case, ("f32",), ("f32", "u8", "u4"), ("f32",), quantises_src=quantise_src)
        else:
            found = matrices(case, ("u8", "s8"), ("u8", "s8"), ("s32",))
        return Session(self._onnx, self._onnxruntime, case, found, _AS_INT8 if quantise_src else _AS_F32)


class Session:
    """A session of a model with one node, with its input and output bound."""

    def __init__(self, onnx: Any, ort: Any, case: Case, found: Matrices, level: int) -> None:
        helper, numpy_helper = onnx.helper, onnx.numpy_helper
        self.impl, node, constants = _node(helper, case, found, level)
        src = np.ascontiguousarray(found.src)
        kind = helper.np_dtype_to_tensor_dtype
        dst = np.zeros(
            (src.shape[0], found.weights.shape[1]), np.float32 if case.dt[2] == "f32" else np.int32
        )
        graph = helper.make_graph(
            [node],
            "matmul",
            [helper.make_tensor_value_info("x", kind(src.dtype), src.shape)],
            [helper.make_tensor_value_info("y", kind(dst.dtype), dst.shape)],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR)
        options = ort.SessionOptions()
        options.intra_op_num_threads = thread_count()
        # Otherwise its threads would spin while the other libraries have their turn.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self._dst = ort.OrtValue.ortvalue_from_numpy(dst)
        self._binding = session.io_binding()
        bound = ort.OrtValue.ortvalue_from_numpy(src)
        self._binding.bind_ortvalue_input("x", bound)
        self._binding.bind_ortvalue_output("y", self._dst)
        self._session = session
        self.cool = flusher(case.options.cold_cache, bound.numpy)

    def run(self) -> None:
        self._session.run_with_iobinding(self._binding)

    def dst(self) -> Floats:
        """The result of the last run."""
        result: Floats = self._dst.numpy().astype(np.float32)
        return result


def _node(helper: Any, case: Case, found: Matrices, level: int) -> tuple[str, Any, dict[str, Any]]:
    """The name to print, the node, and its constant inputs by name. PeerError if no node fits."""
    weights = found.weights
    if case.dt[1] == "f32":
        return "MatMul", helper.make_node("MatMul", ["x", "w"], ["y"]), {"w": np.ascontiguousarray(weights)}
    if case.dt[0] != "f32":
        if quantized := given(case, "attr-scales", "attr-zero-points"):
            raise PeerError(f"MatMulInteger is given no {quantized}")
        node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
        return "MatMulInteger", node, {"w": np.ascontiguousarray(weights)}
    if found.scales is None:
        raise PeerError("MatMulNBits needs scales of weights, the case has none: see --peer-attr-scales")
    k, n = weights.shape
    bits, block = bits_of(case.dt[1]), found.group
    if block < 16 or block & (block - 1) or k % block:
        groups = given(case, "attr-scales", "attr-zero-points")
        raise PeerError(
            f"MatMulNBits takes groups of 2^n from 16 on that divide K, not {block} as in {groups}"
        )
    constants = {
        "w": packed(np.ascontiguousarray(weights.T), bits).reshape(n, k // block, block * bits // 8),
        "scales": np.ascontiguousarray(found.scales.T, np.float32),
    }
    if found.zero_points is not None:
        constants["zero_points"] = packed(np.ascontiguousarray(found.zero_points.T), bits)
    sizes = {"K": k, "N": n, "bits": bits, "block_size": block, "accuracy_level": level}
    node = helper.make_node("MatMulNBits", ["x", *constants], ["y"], domain="com.microsoft", **sizes)
    return f"MatMulNBits accuracy_level {level}", node, constants


def load() -> OnnxRuntime:
    """Load ONNX Runtime, and the package onnx, which writes the models."""
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise missing("onnxruntime", "onnxruntime", error) from None
    return OnnxRuntime(onnx, onnxruntime)
