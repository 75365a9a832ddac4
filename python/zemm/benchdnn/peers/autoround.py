# SPDX-License-Identifier: Apache-2.0
"""Intel's AutoRound kernels as a peer: f32 or bf16 activations by weights of 8 or 4 bits in groups.

They multiply in f32 or bf16, or quantise src and multiply integers where they have kernels of the CPU
for that: on Intel's CPUs with AVX-VNNI, AVX512-VNNI or AMX only.
"""

from typing import Any

import numpy as np

from zemm.benchdnn.data.cold_cache import Turns, sets_of
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.peers import InTurns, PeerError, limit_spinning, missing, thread_count
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.weight_only import Matrices, bits_of, matrices

_HOW = "pip install auto-round-lib, beside PyTorch: see docs/performance.md"
_AS_F32, _AS_BF16, _AS_INT8 = "fp32", "bf16", "int8"
# The fpmath modes in which products of f32 may be computed in bf16.
_IN_BF16 = ("bf16", "any")
# Scales of other types than f32 are written past the end of the packed weights by version 0.16.
_SCALES = "fp32"


class AutoRound:
    """The imported packages."""

    def __init__(self, torch: Any, kernels: Any, version: str) -> None:
        self.torch, self.kernels, self.version = torch, kernels, version
        torch.set_num_threads(thread_count())
        codes = np.ones((64, 64), np.int8)
        self.quantises_src = self.has_int8(Matrices(codes, codes, 64), "s4")

    def prepare(self, case: Case, quantise_src: bool = False) -> "Linear":
        """The product of a case."""
        types = ("s8", "u8", "s4", "u4")
        found = matrices(case, ("f32", "bf16"), types, (case.dt[0],), quantises_src=quantise_src)
        if quantise_src and not self.has_int8(found, case.dt[1]):
            options = given(case, "dt", "attr-scales", "attr-zero-points")
            raise PeerError(
                f"it multiplies integers for 4 bits, or 8 without zero points, not with {options}"
            )
        in_bf16 = case.dt[0] == "bf16" or case.attributes.fpmath.mode in _IN_BF16
        return Linear(self, case, found, _AS_INT8 if quantise_src else _AS_BF16 if in_bf16 else _AS_F32)

    def has_int8(self, found: Matrices, dt: str) -> bool:
        """Whether it quantises src for these weights: it packs them for the kernel that it has chosen."""
        return not self.torch.equal(*(Packed(self, found, dt, how).blob for how in (_AS_INT8, _AS_F32)))


class Packed:
    """Weights in AutoRound's layout. `settings` are those that packing and multiplying share."""

    def __init__(self, library: AutoRound, found: Matrices, dt: str, compute: str) -> None:
        torch = library.torch
        k, n = found.weights.shape
        offset = 2 ** (bits_of(dt) - 1) if dt.startswith("u") else 0

        def signed(codes: Any) -> Any:
            return torch.from_numpy(np.ascontiguousarray(codes.astype(np.int16) - offset).astype(np.int8))

        shape = (k // found.group, n)
        points = np.zeros(shape, np.int8) if found.zero_points is None else found.zero_points
        scales = np.ones(shape, np.float32) if found.scales is None else found.scales
        is_asymmetric = bool(offset) or found.zero_points is not None
        self.settings = (found.group, compute, f"int{bits_of(dt)}", _SCALES, is_asymmetric)
        self.blob = library.kernels.repack_quantized_weight(
            signed(found.weights), torch.from_numpy(scales.copy()), signed(points), *self.settings
        )


class Linear(InTurns):
    """A product with its tensors. It computes in f32, as AutoRound's own layer: a bf16 src is
    converted first, and the result afterwards."""

    def __init__(self, library: AutoRound, case: Case, found: Matrices, compute: str) -> None:
        torch = library.torch
        packed = Packed(library, found, case.dt[1], compute)
        self._torch, self._multiply = torch, library.kernels.woqgemm
        self._sizes = (found.weights.shape[1], found.weights.shape[0], *packed.settings)
        self._none = torch.empty(0)
        self._is_bf16 = case.dt[0] == "bf16"
        self.impl = f"woqgemm {packed.settings[2]} compute_type {compute}"
        src = torch.from_numpy(np.ascontiguousarray(found.src, np.float32))
        tensors = {
            args.SRC: src.bfloat16() if self._is_bf16 else src.clone(),
            args.WEI: packed.blob,
            args.DST: torch.zeros(case.problem.dst),
        }
        sets = sets_of(case.options.cold_cache, tensors, lambda t: int(t.nbytes), lambda t: t.clone())
        self._turns = Turns(sets)
        self._dst: Any = None

    def run(self) -> None:
        tensors = self._turns.next()
        src, dst = tensors[args.SRC], tensors[args.DST]
        with self._torch.inference_mode():
            src = src.float() if self._is_bf16 else src
            self._multiply(src, tensors[args.WEI], self._none, *self._sizes, out=dst)
            self._dst = dst.bfloat16() if self._is_bf16 else dst

    def dst(self) -> Floats:
        """The result of the last run."""
        result: Floats = self._dst.float().numpy()
        return result


def load() -> AutoRound:
    """Load AutoRound's kernels, and PyTorch, which holds their tensors."""
    limit_spinning()
    try:
        import auto_round_kernel
        import torch
        from auto_round_kernel import version
    except ImportError as error:
        raise missing("autoround", "auto-round-lib", error, _HOW) from None
    if getattr(auto_round_kernel, "cpu_lib", None) is None:
        raise missing("autoround", "auto-round-lib", "it has no kernels for this CPU and Python", _HOW)
    return AutoRound(torch, auto_round_kernel, str(version.__version__))
