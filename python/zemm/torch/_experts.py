# SPDX-License-Identifier: Apache-2.0
"""The operator torch.ops.zemm.experts: a whole mixture of experts, which torch.compile and torch.export keep
as one node. As torch.ops.zemm.linear it takes its two layers as tensors of bytes."""

from typing import Any

import torch

from zemm._arrays.torch_tensors import HOST
from zemm._layers.gate import Gate
from zemm._library import library
from zemm._library.torch_derivatives import refuse_gradient, refuse_tangent
from zemm.errors import InvalidArgumentsError
from zemm.linear import Linear
from zemm.torch._experts_call import call_of
from zemm.torch._found import find
from zemm.torch._operator import TYPES

_library = torch.library.Library("zemm", "FRAGMENT")
_library.define(
    "experts(Tensor x, Tensor index, Tensor weights, Tensor[] up, Tensor[] down, Tensor? up_columns,"
    " Tensor? down_columns, str gate, int in_features, SymInt out_features, int first=0, int? experts=None,"
    " ScalarType? dtype=None) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_SHORT = (torch.float32, torch.float16, torch.bfloat16)


def _check(x: torch.Tensor, index: torch.Tensor, weights: torch.Tensor, in_features: int) -> None:
    """ValueError: the tensors do not fit the experts, or each other."""
    if x.dtype not in TYPES:
        raise InvalidArgumentsError(
            f"hidden_states have type {x.dtype}, not one of {', '.join(map(str, TYPES))}"
        )
    if x.ndim != 2 or x.shape[-1] != in_features:
        raise InvalidArgumentsError(
            f"hidden_states have shape {tuple(x.shape)}, the experts take [tokens, {in_features}]"
        )
    if index.ndim != 2 or index.shape[0] != x.shape[0] or weights.shape != index.shape:
        raise InvalidArgumentsError(
            f"top_k_index has shape {tuple(index.shape)} and top_k_weights {tuple(weights.shape)}, not"
            f" [{x.shape[0]}, k] both"
        )


def refuse_missing(index: torch.Tensor, experts: int) -> None:
    """ValueError: the index has an expert that is none of so many."""
    wrong = index[(index < 0) | (index >= experts)]
    if len(wrong):
        raise InvalidArgumentsError(
            f"top_k_index has expert {int(wrong[0])} of {experts}: give it the numbers that the router of the"
            " whole model chooses; zemm.torch.parallel shares experts out among processes"
        )


def _pointer(tensor: torch.Tensor | None) -> Any:
    return library.NULL if tensor is None else HOST.pointer(tensor)


def _plain(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if tensor.dtype is dtype and HOST.is_plain(tensor):
        return tensor
    return tensor.to(dtype).contiguous().resolve_neg()


def run(
    x: torch.Tensor,
    index: torch.Tensor,
    weights: torch.Tensor,
    up: Linear,
    down: Linear,
    up_columns: torch.Tensor | None,
    down_columns: torch.Tensor | None,
    gate: Gate,
    first: int = 0,
    experts: int | None = None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """y [tokens, N] of x [tokens, K]: for each token the sum over its experts, index [tokens, k], of weight *
    down(gate(up(x))). The layers are on the host. columns: those of its input that a layer multiplies, in its
    order, for each expert, [E, K]. first, experts: the layers have some of so many experts, from the first
    one on, and the sum is over these. dtype: of y; None: that of x. ValueError: the tensors do not fit, or
    there is no such expert."""
    x, weights = HOST.check(x, "hidden_states"), HOST.check(weights, "top_k_weights")
    _check(x, index, weights, up.in_features)
    wanted, (tokens, top_k) = dtype or x.dtype, index.shape
    count = up.weights.dims[0]
    if experts is not None and experts != count:
        refuse_missing(index, experts)
        own = ((index >= first) & (index < first + count)).nonzero()
        # Few numbers of rows, for which calls are prepared: the last row is repeated.
        rows, step = len(own), 1 << max(len(own).bit_length() - 4, 0)
        token, place = torch.cat([own, own[-1:].expand(-rows % step, 2)]).T
        routed = x[token], index[token, place, None] - first, weights[token, place, None]
        of_sums = wanted if top_k == 1 else torch.float32  # with one expert there is nothing to add
        made = run(*routed, up, down, up_columns, down_columns, gate, dtype=of_sums)
        y = made.new_zeros(tokens, down.out_features)
        return y.index_add_(0, token[:rows], made[:rows]).to(wanted)
    y = x.new_empty((tokens, down.out_features), dtype=wanted if wanted in _SHORT else torch.float32)
    if not tokens * top_k:
        return y.zero_().to(wanted)
    x = _plain(x, x.dtype if x.dtype in _SHORT else torch.float32)
    weights = _plain(weights, weights.dtype if weights.dtype in _SHORT else torch.float32)
    index = _plain(HOST.check(index, "top_k_index"), torch.int64)
    columns = up_columns is not None, down_columns is not None
    call = call_of(up, down, gate, top_k, (x, y, weights), columns)
    try:
        call.run([_pointer(tensor) for tensor in (x, index, weights, up_columns, down_columns, y)])
    except InvalidArgumentsError:
        refuse_missing(index, count)
        raise
    return y if y.dtype is wanted else y.to(wanted)


def _run(*args: Any) -> torch.Tensor:
    """args: those of the operator's schema."""
    x, index, weights, up, down, up_columns, down_columns, gate, _, _, *part = args
    layers = find(up), find(down), up_columns, down_columns, Gate.of_text(gate)
    return run(x, index, weights, *layers, *part)


def _fake(
    x: torch.Tensor,
    index: torch.Tensor,
    weights: torch.Tensor,
    up: Any,
    down: Any,
    up_columns: Any,
    down_columns: Any,
    gate: str,
    in_features: int,
    out_features: int,
    first: int = 0,
    experts: int | None = None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    _check(x, index, weights, in_features)
    return x.new_empty((x.shape[0], out_features), dtype=dtype)


def _refuse_gradients(keyset: Any, x: torch.Tensor, index: Any, weights: torch.Tensor, *args: Any) -> Any:
    for tensor, name in ((x, "hidden_states"), (weights, "top_k_weights")):
        refuse_gradient(tensor, name)
        refuse_tangent(tensor, name)
    after = keyset & torch._C._after_autograd_keyset
    return torch.ops.zemm.experts.default.redispatch(after, x, index, weights, *args)


def _batched(info: Any, in_dims: Any, *args: Any) -> tuple[torch.Tensor, int]:
    """torch.func.vmap: the tokens of all calls one after the other."""
    if any(dim is not None for dims in in_dims[3:5] for dim in dims):
        raise InvalidArgumentsError(
            "torch.func.vmap goes over the bytes of a layer: let it go over tokens alone"
        )
    size = info.batch_size
    tokens = [
        (arg.expand(size, *arg.shape) if dim is None else arg.movedim(dim, 0)).flatten(0, 1)
        for arg, dim in zip(args[:3], in_dims[:3], strict=True)
    ]
    y = torch.ops.zemm.experts.default(*tokens, *args[3:])
    return y.unflatten(0, (size, -1)), 0


_library.impl("experts", _run, "CompositeExplicitAutograd")
_library.impl("experts", _refuse_gradients, "Autograd", with_keyset=True)
torch.library.register_fake("zemm::experts", _fake, lib=_library)
torch.library.register_vmap("zemm::experts", _batched, lib=_library)
