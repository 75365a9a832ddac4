# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a peer: `_int_mm` (s8 by s8 into s32), `mm` for f32, bf16 and f16, and its products with
quantised weights."""

from typing import Any

import numpy as np

from zemm.benchdnn.data.cold_cache import Turns, sets_of
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Codes, Floats
from zemm.benchdnn.peers import InTurns, PeerError, limit_spinning, missing, thread_count
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.torch_quantised import is_quantised, packed
from zemm.benchdnn.peers.weight_only import matrices

_FLOATS = ("f32", "bf16", "f16")
# The precision of products of f32: `medium` allows bf16, `high` tf32.
_PRECISIONS = {"bf16": "medium", "any": "medium", "tf32": "high"}


class Torch:
    """The imported package."""

    quantises_src = False

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.version = torch.__version__
        torch.set_num_threads(thread_count())

    def prepare(self, case: Case, quantise_src: bool = False) -> "Product | PackedProduct":
        """The matrix product of a case."""
        packs = is_quantised(case)
        src, wei, dst = case.tags
        known = ("ab", "any") if packs else ("ab", "ba", "any")
        if (
            any(case.strides)
            or src not in known
            or wei not in ("ab", "ba", "any")
            or dst not in ("ab", "any")
        ):
            options = given(case, "stag", "wtag", "dtag", "strides")
            takes = "src as ab, weights as ab or ba" if packs else "src and weights as ab or ba"
            raise PeerError(f"it takes {takes}, and dst as ab, not {options}")
        return PackedProduct(self._torch, case) if packs else Product(self._torch, case)


class Product(InTurns):
    """A matrix product with its tensors. Weights with tag any are stored as [N, K], as those of
    torch.nn.Linear."""

    def __init__(self, torch: Any, case: Case) -> None:
        is_float = case.dt[0] in _FLOATS
        kind = case.dt[0] if is_float else "s8"
        found = matrices(case, ("s8", *_FLOATS), (kind,), (kind if is_float else "s32",))
        if quantized := given(case, "attr-scales", "attr-zero-points"):
            raise PeerError(f"mm and _int_mm take no {quantized}")
        self._inference_mode = torch.inference_mode
        self._multiply = torch.mm if is_float else torch._int_mm
        self.impl = "mm" if is_float else "_int_mm"
        src = _tensor(torch, found.src, case.tags[0] == "ba")
        weights = _tensor(torch, found.weights, case.tags[1] != "ab")
        dst = torch.zeros(case.problem.dst, dtype=src.dtype if is_float else torch.int32)
        tensors = {args.SRC: src, args.WEI: weights, args.DST: dst}
        sets = sets_of(case.options.cold_cache, tensors, lambda t: int(t.nbytes), lambda t: t.clone())
        self._turns = Turns(sets)
        # A setting of the process.
        torch.set_float32_matmul_precision(_PRECISIONS.get(case.attributes.fpmath.mode, "highest"))

    def run(self) -> None:
        tensors = self._turns.next()
        with self._inference_mode():
            self._multiply(tensors[args.SRC], tensors[args.WEI], out=tensors[args.DST])

    def dst(self) -> Floats:
        """The result of the last run."""
        result: Floats = self._turns.last[args.DST].float().numpy()
        return result


class PackedProduct(InTurns):
    """A product whose weights are packed beforehand, whatever their tag. It has no argument for dst:
    each run makes a new one."""

    def __init__(self, torch: Any, case: Case) -> None:
        work = packed(torch, case)
        self._inference_mode, self._multiply, self.impl = torch.inference_mode, work.multiply, work.impl
        tensors = {args.SRC: (work.src, work.src.clone), args.WEI: (work.pack(), work.pack)}
        sets = sets_of(
            case.options.cold_cache,
            tensors,
            lambda t: int(t[0].numel() * t[0].element_size()),
            lambda t: (t[1](), t[1]),
        )
        self._turns = Turns(sets)
        self._dst: Any = None

    def run(self) -> None:
        tensors = self._turns.next()
        with self._inference_mode():
            self._dst = self._multiply(tensors[args.SRC][0], tensors[args.WEI][0])

    def dst(self) -> Floats:
        """The result of the last run."""
        result: Floats = self._dst.float().numpy()
        return result


def _tensor(torch: Any, codes: Codes, is_transposed: bool) -> Any:
    """A matrix with its rows, or its columns if is_transposed, one after the other in memory."""
    stored = np.ascontiguousarray(codes.T if is_transposed else codes)
    if stored.dtype.name == "bfloat16":  # which torch does not take from numpy
        tensor = torch.from_numpy(stored.view(np.int16)).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(stored)
    return tensor.t() if is_transposed else tensor


def load() -> Torch:
    """Load PyTorch from its package."""
    limit_spinning()
    try:
        import torch
    except ImportError as error:
        raise missing(
            "torch", "torch", error, "a build for CPUs is enough, see docs/performance.md"
        ) from None
    return Torch(torch)
