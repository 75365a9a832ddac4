# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the parameters of a module that replaces one of torch: tensors that others can read."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from zemm.errors import InvalidArgumentsError


def refuse_write() -> None:
    raise InvalidArgumentsError(
        "the weights of a quantised module are packed and cannot be written to: initialise and resize modules"
        " and merge adapters before you quantise them, or keep the module as floats (filter= of quantize_(),"
        " modules_to_not_convert= of ZemmConfig)"
    )


class LayerTensor(torch.Tensor):
    """Weights or a bias of a layer. Type, shape and device are there; the values are computed by each
    operation that reads them. Writing to it or to a view of it is refused (ValueError); clone() gives a plain
    tensor."""

    _compute: Callable[[], torch.Tensor]
    _is_hf_initialized = True  # Transformers leaves such tensors alone when it initialises a model

    @staticmethod
    def __new__(cls, compute: Callable[[], torch.Tensor], like: torch.Tensor) -> "LayerTensor":
        """compute: gives the values. like: a tensor of their shape, strides and type, on any device."""
        made: LayerTensor = torch.Tensor._make_wrapper_subclass(
            cls, like.shape, strides=like.stride(), dtype=like.dtype, device="cpu"
        )
        made._compute = compute
        torch._C._set_throw_on_mutable_data_ptr(made)  # code of C++ that wants the bytes gets an error
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [*zip(func._schema.arguments, args, strict=False)]
        given += [(a, kwargs[a.name]) for a in func._schema.arguments if a.name in kwargs]
        aliased = [(a.alias_info, value) for a, value in given if a.alias_info is not None]
        if any(alias.is_write and _has_one(value) for alias, value in aliased):
            refuse_write()
        if func is torch.ops.aten.detach.default:
            return cls(args[0]._compute, args[0])
        y = func(*tree_map(_values, args), **tree_map(_values, kwargs))
        return tree_map(_view, y) if any(_has_one(value) for _, value in aliased) else y

    @property
    def data(self) -> torch.Tensor:
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        refuse_write()

    def numpy(self, *, force: bool = False) -> Any:
        return self.clone().numpy(force=force)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.clone().__dlpack__(**kwargs)

    def tolist(self) -> Any:
        return self.clone().tolist()

    def _no_memory(self, *args: Any, **kwargs: Any) -> Any:
        raise InvalidArgumentsError(
            "the weights of a quantised module are computed when they are read and have no memory of their"
            " own: clone() gives a plain tensor"
        )

    data_ptr = untyped_storage = storage = share_memory_ = _no_memory

    def __setitem__(self, index: Any, value: Any) -> None:
        refuse_write()

    def __deepcopy__(self, memo: Any) -> torch.Tensor:
        return self.clone()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.clone().__reduce_ex__(protocol)

    def __repr__(self, **kwargs: Any) -> str:
        return repr(self.clone())


def _has_one(value: Any) -> bool:
    return any(isinstance(leaf, LayerTensor) for leaf in tree_leaves(value))


def _values(value: Any) -> Any:
    return value._compute() if isinstance(value, LayerTensor) else value


def _view(y: Any) -> Any:
    return LayerTensor(lambda: y, y) if isinstance(y, torch.Tensor) else y


class StandIn(torch.nn.Module):
    """A module whose weight is none of its parameters."""

    _is_hf_initialized = True  # Transformers initialises none of it

    @property
    def weight(self) -> torch.Tensor:
        raise NotImplementedError

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("weight", "bias"):
            if value is getattr(self, name):
                return  # Transformers 4 ties a head to its embedding, which reads the head's weights
            refuse_write()
        super().__setattr__(name, value)

    def reset_parameters(self) -> None:
        refuse_write()


def dtype_after(fn: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype, kind: str) -> torch.dtype:
    """The type to which `fn` converts a floating type. to(), half(), cuda() and their relatives give `fn` to
    _apply(). ValueError: it moves tensors to another device."""
    try:
        made = fn(torch.empty(0, dtype=dtype, device="cpu"))
        place = made.device
    except (AssertionError, RuntimeError, NotImplementedError) as error:  # torch has no such device
        place, made = error, None
    if made is None or place.type != "cpu":
        raise InvalidArgumentsError(
            f"{kind} takes tensors of the host and cannot be moved ({place}): move the other modules alone,"
            " or quantise what stays on the host (filter=)"
        )
    return made.dtype if made.is_floating_point() else dtype
