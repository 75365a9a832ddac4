# SPDX-License-Identifier: Apache-2.0
"""A tensor of a GGUF file as weights of a matmul."""

from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.host_tensors import Host, as_array, host_of
from zemm._functions.matmul import matmul
from zemm._library.codes import numbers_of, split
from zemm._library.lists import TYPES
from zemm.dtypes import FLOATING, SUB_BYTE, pack_values, type_of
from zemm.errors import InvalidArgumentsError
from zemm.gguf.formats import FORMATS, Format, Parts, as_integers
from zemm.gguf.q8_1 import GROUP as Q8_1_GROUP
from zemm.gguf.q8_1 import Q8_1
from zemm.linear import Linear
from zemm.words import DataType

_SLICE = 1 << 19  # elements


class Tensor:
    """Weights w = scales * values - minimums, with scales and minimums for groups along K.

    name: in the file. type: ggml's ("Q4_K"). shape: [.., K, N], the transpose of ggml's rows along
    K; [K] if the tensor has one dimension.
    """

    def __init__(self, name: str, type_name: str, dims: tuple[int, ...], data: NDArray[np.uint8]) -> None:
        self.name = name
        self.type = type_name
        self._dims = dims
        self._data = data
        rows = dims[::-1]
        self.shape = (*rows[:-2], *dims[:2]) if len(dims) > 1 else rows

    @property
    def _format(self) -> Format:
        if self.type not in FORMATS:
            raise InvalidArgumentsError(
                f"tensor {self.name!r} has the type {self.type}, which zemm does not read; it reads"
                f" {', '.join(FORMATS)}"
            )
        return FORMATS[self.type]

    @property
    def data_type(self) -> DataType:
        """zemm's name of the values' type. ValueError, as from the members below, if zemm does not
        read the tensor's type."""
        return self._format.data_type

    @property
    def group(self) -> int | None:
        """How many elements of K share a scale. None for floating-point types."""
        return self._format.group if self._format.decode else None

    @cached_property
    def _blocks(self) -> NDArray[Any]:
        """The file's blocks, [.., N, blocks of a row]. A floating-point element counts as a block."""
        return self._data.view(self._format.block).reshape(*self._dims[:0:-1], -1)

    @cached_property
    def _parts(self) -> Parts | None:
        """Codes, scales, minimums and factors, all [.., N, elements or groups along K]."""
        rows = self._dims[:0:-1]
        if self._format.decode is None:
            return None
        return Parts._make(None if part is None else part.reshape(*rows, -1) for part in self._decoded())

    def _decoded(self) -> Parts:
        """_parts of all blocks, decoded slice by slice: numpy's temporaries stay in the CPU's caches."""
        decode, blocks = self._format.decode, self._blocks.reshape(-1)
        assert decode is not None
        size = max(_SLICE // self._format.elements, 1)
        codes: Any = None
        others: list[list[Any]] = []
        for at in range(0, max(len(blocks), 1), size):
            found, *more = decode(blocks[at : at + size])
            if self.data_type in SUB_BYTE:
                found = pack_values(found, self.data_type)
            if codes is None:
                codes = np.empty((len(blocks), *found.shape[1:]), found.dtype)
            codes[at : at + size] = found
            others.append(more)
        return Parts._make([codes, *map(_joined, zip(*others, strict=True))])

    def _codes(self, parts: Parts) -> NDArray[Any]:
        """The values of _parts, one in each byte, [.., N, K]."""
        if self.data_type not in SUB_BYTE:
            return parts.codes
        codes = split(parts.codes, TYPES[self.data_type].bits).reshape(self._dims[::-1])
        return numbers_of(codes, self.data_type) if TYPES[self.data_type].kind == "integer" else codes

    @cached_property
    def _as_s8(self) -> Parts:
        """_parts of f4_e2m1 as s8."""
        assert self._parts is not None
        return as_integers(Parts(self._codes(self._parts), self._parts.scales))

    def _multiplied(self, by_integers: bool) -> tuple[Parts | None, DataType]:
        """_parts and their type as activations that are integers, or others, are multiplied by them."""
        if by_integers and self.data_type == "f4_e2m1":
            return self._as_s8, "s8"
        return self._parts, self.data_type

    @property
    def values(self) -> NDArray[Any]:
        """The elements, or the numbers that stand for them, [.., K, N], as zemm.matmul() takes
        them: int8, uint8, float16, bfloat16 or float32. For data type u4, s4 and f4_e2m1 bytes with two
        values along K each, [.., K / 2, N], for u2 with four, [.., K / 4, N]. Values without
        scales are a view of the file."""
        return _transposed(self._blocks if self._parts is None else self._parts.codes)

    @property
    def scales(self) -> NDArray[np.float32] | None:
        """[.., K / group, N]; exact. None for floating-point types."""
        return None if self._parts is None else _transposed(self._parts.real_scales)

    @property
    def minimums(self) -> NDArray[np.float32] | None:
        """[.., K / group, N]; exact. None unless the type has minimums."""
        minimums = None if self._parts is None else self._parts.real_minimums
        return None if minimums is None else _transposed(minimums)

    def dequantize(self) -> NDArray[np.float32]:
        """The weights as float32 [.., K, N], with the bits of gguf.quants.dequantize()."""
        parts = self._parts
        if parts is None:
            return _transposed(self._blocks.astype(np.float32))
        codes = self._codes(parts)
        if self.data_type == "f4_e2m1":
            codes = codes.view(ml_dtypes.float4_e2m1fn)
        if less := self._format.less:
            codes = codes.view(np.int8) - np.int8(less)
        grouped = codes.reshape(*parts.scales.shape, -1).astype(np.float32)
        with np.errstate(over="ignore"):  # scales of MXFP4 may be as large as f32 holds
            grouped *= parts.real_scales[..., None]
        if (minimums := parts.real_minimums) is not None and not less:
            grouped -= minimums[..., None]
        return _transposed(grouped.reshape(*self._dims[::-1]))

    def matmul(
        self,
        x: ArrayLike | Q8_1,
        *,
        src_scales: ArrayLike | None = None,
        reductions: ArrayLike | None = None,
        **options: Any,
    ) -> Any:
        """x @ w, by zemm.matmul(), which describes `options` (bias, dst_dtype, post_ops, fpmath,
        engine and out). dst is float32 unless dst_dtype or out say otherwise. It is a tensor of torch if x
        is one.

        x: [.., M, K], one of
        - floating-point activations
        - int8 activations with src_scales and, if there are any, reductions, as from
          zemm.quantize_activations()
        - blocks of Q8_1, as from zemm.gguf.quantize_q8_1()

        int8 and Q8_1 multiply weights of f4_e2m1 as s8: twice the values, and half of the scales.

        If the type has minimums, they are offsets of the weights. The sums of Q8_1 are multiplied by them in
        a second matmul in float32, whose result is subtracted before post_ops.

        ValueError: shapes or types do not fit, or zemm does not read the tensor's type.
        """
        if not isinstance(x, (Q8_1, np.ndarray)) and (host := host_of(x)) is not host_of(None):
            return self._matmul_of_tensor(host, x, src_scales, reductions, options)
        group, sums = self._format.group, None
        if isinstance(x, Q8_1):
            if src_scales is not None or reductions is not None:
                raise InvalidArgumentsError(
                    "x is Q8_1 with its own scales and sums: leave src_scales and reductions out"
                )
            x, src_scales, sums = x
        array = np.asarray(x)
        self._check_activations(array, options)
        parts, data_type = self._multiplied(by_integers=array.dtype == np.int8)
        parameters: dict[str, Any] = {} if parts is None else _parameters(parts)
        if sums is not None and group == Q8_1_GROUP and (minimums := self.minimums) is not None:
            part = matmul(sums, minimums, engine=options.get("engine"))
            options["post_ops"] = [("sub", part), *options.get("post_ops", ())]
            parameters = {name: values for name, values in parameters.items() if "offset" not in name}
        elif "offsets" in parameters:
            options["reductions"] = reductions
        options |= {f"weights_{name}": _transposed(values) for name, values in parameters.items()}
        return matmul(
            array,
            _transposed(self._blocks if parts is None else parts.codes),
            weights_dtype=data_type,
            src_scales=src_scales,
            **options,
        )

    def _matmul_of_tensor(
        self, host: Host, x: Any, src_scales: Any, reductions: Any, options: dict[str, Any]
    ) -> Any:
        """matmul() of a tensor of torch, on arrays of the same bytes."""
        out = options.pop("out", None)
        if out is not None:
            host.check_writable(out)
            options["out"] = as_array(out, "out")
        y = self.matmul(
            as_array(x, "x"),
            src_scales=None if src_scales is None else as_array(src_scales, "src_scales"),
            reductions=None if reductions is None else as_array(reductions, "reductions"),
            **options,
        )
        if out is None:
            return host.of_array(y)
        if not host.is_plain(out):  # y is a copy
            host.copy(out, host.of_array(y))
        return out

    def linear(
        self, bias: ArrayLike | None = None, *, scale: ArrayLike | None = None, **options: Any
    ) -> Linear:
        """A layer y = x @ w + bias, with weights that are packed once.

        scale: a number, or [E] of experts, by which the weights are multiplied. llama.cpp multiplies by the
        tensor "x.scale" that files of NVFP4 may have beside "x.weight".

        options: of zemm.Linear.from_quantized(): activation, activation_group, dst_dtype, fpmath and
        engine. Minimums become the offsets of the layer. With integer activations weights of f4_e2m1 become
        s8, exactly.

        ValueError: zemm does not read the tensor's type, it has neither two nor three dimensions, or scale
        does not fit.
        """
        if len(self.shape) not in (2, 3):
            raise InvalidArgumentsError(
                f"tensor {self.name!r} has shape {self.shape}, not [K, N] or [E, K, N]"
            )
        parts, data_type = self._multiplied(by_integers=options.get("activation") in ("int8", "int7"))
        parameters = {} if parts is None else _parameters(parts)
        if scale is not None:
            factor, has_factors = self._factor(scale), "scale_factors" in parameters
            for name in ("scale_factors", "offset_factors") if has_factors else ("scales", "offsets"):
                if name in parameters:
                    parameters[name] = _as_f32(parameters[name]) * factor
            parameters.setdefault("scales", factor)
        return Linear.from_quantized(
            self._blocks if parts is None else parts.codes,
            **parameters,
            weights_dtype=data_type,
            transposed=True,
            bias=bias,
            **options,
        )

    def _factor(self, scale: ArrayLike) -> NDArray[np.float32]:
        """A scale of all weights, or [E, 1, 1] of experts."""
        array = np.asarray(scale, np.float32)
        if array.size == 1:
            return array.reshape(())
        if len(self.shape) != 3 or array.shape != self.shape[:1]:
            raise InvalidArgumentsError(
                f"scale has shape {array.shape}, neither one number nor one for each expert of tensor"
                f" {self.name!r} {self.shape}"
            )
        return array[:, None, None]

    def take(self, columns: ArrayLike) -> "Tensor":
        """The tensor with these columns of N, in this order, whose blocks are copied as they are.

        ValueError: the tensor has no two dimensions, or zemm does not read its type. IndexError: there is no
        such column.
        """
        if len(self._dims) != 2:
            raise InvalidArgumentsError(f"tensor {self.name!r} has shape {self.shape}, not [K, N]")
        taken = np.ascontiguousarray(self._blocks[np.asarray(columns)])
        dims = (self._dims[0], len(taken))
        return Tensor(self.name, self.type, dims, taken.reshape(-1).view(np.uint8))

    def beside(self, other: "Tensor") -> "Tensor":
        """The tensor with the columns of N of another one behind its own. Blocks are copied as they are.

        ValueError: types or the other dimensions differ, there is one dimension, or zemm does not read the
        type.
        """
        if self.type != other.type or self.shape[:-1] != other.shape[:-1] or len(self.shape) < 2:
            raise InvalidArgumentsError(
                f"tensor {self.name!r}, {self.type} {self.shape}, and tensor {other.name!r}, {other.type}"
                f" {other.shape}, do not fit beside each other"
            )
        joined = np.concatenate([self._blocks, other._blocks], axis=-2)
        dims = (self._dims[0], self._dims[1] + other._dims[1], *self._dims[2:])
        return Tensor(self.name, self.type, dims, joined.reshape(-1).view(np.uint8))

    def _check_activations(self, x: NDArray[Any], options: dict[str, Any]) -> None:
        data_type = type_of(x, "x")
        if data_type not in (*FLOATING, "s8"):
            raise InvalidArgumentsError(f"x has type {data_type}, neither floating-point nor s8")
        if "src_zero_points" in options:
            raise InvalidArgumentsError("src_zero_points cannot be given: the int8 activations have none")
        if x.ndim < 2 or len(self.shape) < 2 or x.shape[-1] != self.shape[-2]:
            raise InvalidArgumentsError(
                f"x {x.shape} does not fit tensor {self.name!r} {self.shape}: they must be [.., M, K] and"
                " [.., K, N]"
            )

    def __repr__(self) -> str:
        return f"<zemm.gguf.Tensor {self.name!r} {self.type} {self.shape}>"


def _parameters(parts: Parts) -> dict[str, Any]:
    """Scales, offsets and their factors by their names in Linear.from_quantized(), [.., N, G]."""
    found = {"scales": parts.scales}
    if parts.scale_factors is not None:
        found["scale_factors"] = parts.scale_factors
    if parts.minimum_factors is not None and parts.minimums is not None:
        found |= {"offsets": parts.minimums, "offset_factors": -parts.minimum_factors}
    elif parts.minimums is not None:
        found["offsets"] = -parts.minimums
    return found


def _joined(parts: tuple[NDArray[Any] | None, ...]) -> NDArray[Any] | None:
    """A member of the Parts of all slices. Scales of NVFP4 are f16 in slices with some that f8 has not."""
    arrays = [part for part in parts if part is not None]
    if len({array.dtype for array in arrays}) > 1:
        arrays = [array.astype(np.float16) for array in arrays]
    return np.concatenate(arrays) if arrays else None


def _as_f32(values: NDArray[Any]) -> NDArray[np.float32]:
    return values.astype(np.float32, copy=False)


def _transposed(rows: NDArray[Any]) -> NDArray[Any]:
    """[.., N, K] as [.., K, N]; [K] unchanged."""
    return rows.swapaxes(-1, -2) if rows.ndim > 1 else rows
