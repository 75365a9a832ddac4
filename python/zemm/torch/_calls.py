# SPDX-License-Identifier: Apache-2.0
"""Calls of layers without Python.

The extension zemm._torch_calls knows the calls that this thread has made before. torch's dispatcher asks it
first, and so does QuantLinear. It uses torch's stable C interface (torch 2.10 and later), so that one binary
fits several versions. What it does not know goes to the operator in Python.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from zemm._arrays.torch_tensors import HOST, dtype_of
from zemm._layers.attention import AttentionCall
from zemm._torch_calls import add_call, number_of_dtype, register
from zemm.linear import Linear
from zemm.torch._parts import NAMES

_Run = Callable[..., torch.Tensor]
NUMBERS: dict[torch.dtype | None, int] = {}  # types in the stable interface; empty: nobody asks the extension


def start(run: _Run, autograd: _Run, modes: tuple[Any, ...], watchers: tuple[Any, ...]) -> None:
    """Have torch's dispatcher ask the extension. run: the operator in Python. autograd: what comes before it,
    where gradients are recorded. modes: the keys that the dispatcher adds while nobody looks for operators,
    with and without inference mode. watchers: functions that say whether somebody looks for functions or
    operators."""
    aoti = getattr(torch._C, "_aoti", None)
    of_handle = getattr(aoti, "alloc_tensor_by_stealing_from_void_ptr", None)
    to_handle = getattr(aoti, "unsafe_alloc_void_ptr_from_tensor", None)
    if of_handle is None or to_handle is None:
        return
    keys = [torch._C._dispatch_keys(torch.empty(1))]
    with torch.inference_mode():
        keys.append(torch._C._dispatch_keys(torch.empty(1)))
    numbers: dict[torch.dtype | None, int] = {None: -1}

    def with_dtype(function: _Run) -> _Run:
        def call(*args: Any) -> torch.Tensor:
            *others, number = args
            (dtype,) = (dtype for dtype, known in numbers.items() if known == number)
            return function(*others, dtype)

        return call

    missing = register(
        with_dtype(run),
        with_dtype(autograd),
        of_handle,
        to_handle,
        vars(forward_ad),
        torch.Tensor,
        torch._C._dispatch_tls_local_include_set,
        modes,
        torch._C._dispatch_keys,
        tuple(keys),
        watchers,
    )
    if missing is None:
        for name, dtype in vars(torch).items():
            if isinstance(dtype, torch.dtype) and (number := number_of_dtype(name)) >= 0:
                numbers[dtype] = number
        NUMBERS.update(numbers)


def keep_attention(call: AttentionCall, number: int, dtype: torch.dtype) -> None:
    """Have the extension know this thread's call, which has just run, for tensors of this type."""
    if NUMBERS and call.known is None:
        addresses, keep = call.usual()
        nothing = (0,) * len(NAMES)
        types = NUMBERS[dtype], NUMBERS[dtype]
        call.known = add_call(number, b"", nothing, nothing, 0, 0, 0, *types, *addresses, keep)


def keep_call(layer: Linear, parts: list[torch.Tensor], x: torch.Tensor) -> None:
    """Have the extension know this thread's call of the layer, which has just run, for an x of this type and
    number of rows. parts: of the operator."""
    plan = layer._calls.kept.plans.get((HOST, x.dtype, x.shape, None, False))
    if not NUMBERS or plan is None or plan.converts or plan.call is None or plan.call.known is not None:
        return
    usual = plan.call.usual()
    if usual is None or parts[1].data_ptr() != layer.weights.memory.handle:  # it has copies
        return
    addresses, keep = usual
    bytes_of = [(part.data_ptr(), part.nbytes) for part in parts]
    begins, sizes = zip(*bytes_of, *[(0, 0)] * (len(NAMES) - len(parts)), strict=True)
    plan.call.known = add_call(
        layer._calls.number,
        parts[0].numpy().tobytes(),
        begins,
        sizes,
        layer.in_features,
        layer.out_features,
        plan.call_key[0],
        NUMBERS[x.dtype],
        NUMBERS[dtype_of(plan.dst_dtype)],
        *addresses,
        keep,
    )
