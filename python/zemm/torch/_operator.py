# SPDX-License-Identifier: Apache-2.0
"""The operators torch.ops.zemm.linear and torch.ops.zemm.embedding, which torch.compile and torch.export
keep as one node.

Their results depend on their arguments alone: they take the layer as tensors of bytes (zemm.torch._parts),
and nothing of the process. So a program that was exported and saved is right in every process.
"""

from typing import Any

import torch

from zemm._library.torch_derivatives import refuse_gradient, refuse_tangent
from zemm.errors import InvalidArgumentsError
from zemm.torch._calls import keep_call, start
from zemm.torch._found import find
from zemm.torch._rows import read_rows

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_INDICES = (torch.int64, torch.int32)
_NAME, _NAME_OF_EMBEDDING = "zemm::linear", "zemm::embedding"
_CPU = torch._C.DispatchKey.CPU

_library = torch.library.Library("zemm", "FRAGMENT")
_library.define(
    "linear(Tensor x, Tensor[] layer, int in_features, SymInt out_features, ScalarType? dtype) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_library.define(
    "embedding(Tensor ids, Tensor[] layer, SymInt embedding_dim, ScalarType dtype) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def result_of(
    x: torch.Tensor, in_features: int, out_features: int, dtype: torch.dtype | None
) -> tuple[tuple[int, ...], torch.dtype]:
    """Shape and type of y, which is row-major. dtype: what the caller wants; None: x's type.

    Shape propagation and the real operator both ask this function, so that they agree. ValueError: x
    does not fit.
    """
    if x.dtype not in TYPES:
        raise InvalidArgumentsError(
            f"x has type {x.dtype}, not one of {', '.join(map(str, TYPES))}: convert it, as in x.float()"
        )
    if x.ndim == 0 or x.shape[-1] != in_features:
        raise InvalidArgumentsError(f"x has shape {tuple(x.shape)}, the layer takes [.., {in_features}]")
    return (*x.shape[:-1], out_features), dtype if dtype is not None else x.dtype


def _run(
    x: torch.Tensor,
    layer: list[torch.Tensor],
    in_features: int,
    out_features: int,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    try:
        found = find(layer)
        y: torch.Tensor = found(x)
    except InvalidArgumentsError:
        result_of(x, in_features, out_features, dtype)  # says it in torch's words
        raise
    if x.shape[-1] != in_features or y.shape[-1] != out_features:
        shape, _ = result_of(x, in_features, out_features, dtype)
        raise InvalidArgumentsError(f"the layer gives {tuple(y.shape)}, not {shape} as the operator was told")
    wanted = x.dtype if dtype is None else dtype
    keep_call(found, layer, x)
    return y if y.dtype is wanted else y.to(wanted)


def _fake(x: torch.Tensor, layer: list[torch.Tensor], *args: Any) -> torch.Tensor:
    shape, dtype = result_of(x, *args)
    return x.new_empty(shape, dtype=dtype)


def _refuse_gradients(x: torch.Tensor, *args: Any) -> torch.Tensor:
    """Runs before the operator where gradients are recorded, in either direction."""
    refuse_gradient(x, "x")
    refuse_tangent(x, "x")
    with torch._C._AutoDispatchBelowAutograd():
        y: torch.Tensor = torch.ops.zemm.linear.default(x, *args)
        return y


def _batched(info: Any, in_dims: Any, x: torch.Tensor, layer: Any, *args: Any) -> tuple[torch.Tensor, int]:
    """torch.func.vmap: one more leading dimension."""
    if any(dim is not None for dim in in_dims[1]):
        raise InvalidArgumentsError("torch.func.vmap goes over the bytes of a layer: let it go over x alone")
    return torch.ops.zemm.linear.default(x.movedim(in_dims[0], 0), layer, *args), 0


def _look_up(ids: torch.Tensor, layer: list[torch.Tensor], dim: int, dtype: torch.dtype) -> torch.Tensor:
    if ids.dtype not in _INDICES:
        raise InvalidArgumentsError(f"ids have type {ids.dtype}, not one of {', '.join(map(str, _INDICES))}")
    if not ids.is_cpu:
        raise InvalidArgumentsError(f"ids are on the device {ids.device}: call ids.cpu() first")
    return read_rows(layer, ids, dtype)


def _fake_look_up(ids: torch.Tensor, layer: list[torch.Tensor], dim: int, dtype: torch.dtype) -> torch.Tensor:
    return ids.new_empty((*ids.shape, dim), dtype=dtype)


def _batched_look_up(
    info: Any, in_dims: Any, ids: torch.Tensor, layer: Any, *args: Any
) -> tuple[torch.Tensor, int]:
    """torch.func.vmap: one more leading dimension."""
    return torch.ops.zemm.embedding.default(ids.movedim(in_dims[0], 0), layer, *args), 0


# All devices and layouts come here: what zemm does not take is refused with a sentence.
_library.impl("linear", _run, "CompositeExplicitAutograd")
_library.impl("linear", _refuse_gradients, "Autograd")
torch.library.register_fake(_NAME, _fake, lib=_library)
torch.library.register_vmap(_NAME, _batched, lib=_library)
_library.impl("embedding", _look_up, "CompositeExplicitAutograd")
torch.library.register_fake(_NAME_OF_EMBEDDING, _fake_look_up, lib=_library)
torch.library.register_vmap(_NAME_OF_EMBEDDING, _batched_look_up, lib=_library)


_MODES = [torch._C._dispatch_tls_local_include_set()]
with torch.inference_mode():
    _MODES.append(torch._C._dispatch_tls_local_include_set())
_WATCHERS = torch._C._is_torch_function_mode_enabled, torch._C._autograd._profiler_enabled


def is_dispatched(x: torch.Tensor) -> bool:
    """Whether anything of torch wants to see the operator: a program that is traced or compiled, a transform,
    a mode, a profiler, a subclass of tensors."""
    return (
        torch.compiler.is_compiling()
        or type(x) is not torch.Tensor
        or torch._C._dispatch_tls_local_include_set() not in _MODES
        or any(watches() for watches in _WATCHERS)
    )


start(_run, _refuse_gradients, tuple(_MODES), _WATCHERS)


def embedding(
    ids: torch.Tensor, layer: list[torch.Tensor], embedding_dim: int, dtype: torch.dtype
) -> torch.Tensor:
    """Rows of an embedding whose transpose the layer has as weights, [.., embedding_dim]."""
    y: torch.Tensor = torch.ops.zemm.embedding.default(ids, layer, embedding_dim, dtype)
    return y
