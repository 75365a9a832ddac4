# SPDX-License-Identifier: Apache-2.0
"""zemm.Linear: a linear layer with quantised weights that are packed once."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._arrays.host_tensors import as_array, check_out, host_of, overlap
from zemm._arrays.operands import INTEGER_WEIGHTS, owned
from zemm._arrays.scales import ScaleRangeError, check_group, floating
from zemm._arrays.weight_codes import rule_of
from zemm._layers.array_files import about_file, read_arrays, write_arrays
from zemm._layers.call import check_sizes
from zemm._layers.pack_floats import pack_floats
from zemm._layers.primitives import LinearCalls, Plan
from zemm._layers.state import damaged, from_file, pack_state, unpack_state
from zemm._library import check
from zemm.dtypes import as_float32, dtype_name, own_dtype, type_of
from zemm.engine import Engine, Stream, check_stream, default_engine
from zemm.errors import InvalidArgumentsError, NoDeviceError
from zemm.packed_weights import PARAMETERS, PackedWeights, are_along_k, pack
from zemm.words import Activation, DataType, DType, FpmathMode, PackedFor, ScaleDType

Shape = tuple[int, ...]
_FLOATS = ("f32", "f16", "bf16")
_QUANTISED = ("int8", "int7")


def multiplied_type(activation: Activation) -> PackedFor:
    """The type of src in the matmul of a layer."""
    return "s8" if activation == "int8" or activation == "int7" else activation


class Linear:
    """y = x @ weights + bias, with weights that are quantised and packed once.

        layer = zemm.Linear.from_float(w, bias, bits=4, group=128)
        y = layer(x)

    weights: [K, N], or [E, K, N] for E experts. Made by from_float(), from_quantized() or load().
    Immutable; any number of threads may call a layer at once.
    """

    weights: PackedWeights
    bias: NDArray[Any] | None
    activation: Activation
    activation_group: int
    dst_dtype: DataType | None
    fpmath: FpmathMode | None
    _calls: LinearCalls

    def __init__(self) -> None:
        raise TypeError("zemm.Linear is made by from_float(), from_quantized() or load()")

    @classmethod
    def from_float(
        cls,
        w: Any,
        bias: Any = None,
        *,
        bits: int = 8,
        group: int | None = 128,
        symmetric: bool = False,
        scale_dtype: ScaleDType = "f32",
        activation: Activation = "f32",
        activation_group: int | None = None,
        dst_dtype: DType | None = None,
        transposed: bool = False,
        fpmath: FpmathMode | None = None,
        engine: Engine | None = None,
    ) -> "Linear":
        """Quantise the weights w to `bits` bits, as zemm.quantize_weights() does.

        w: [K, N] or [E, K, N], an array or a CPU tensor of torch, floating-point. transposed: w is
        [.., N, K], as in torch.nn.Linear.

        group: elements of K that share a scale; None: all of K. symmetric: signed values without
        zero points, else unsigned ones with zero points. scale_dtype: "f32", "f16" or "bf16"; if f16
        holds a scale with too few digits, or not at all, the layer has f32 scales. Scales of f32 and bf16 are
        at least 1.2e-38: weights below 1e-36 may become 0.

        The other arguments are those of from_quantized(). ValueError: shapes or types do not fit, or
        a weight is not finite.
        """
        array = as_array(w, "w")
        if check.flag(transposed, "transposed") and array.ndim > 1:
            array = array.swapaxes(-1, -2)
        array = floating(array, "w")
        rule = rule_of(array, bits, group, scale_dtype, symmetric)
        dst_dtype = _check_call(activation, activation_group, dst_dtype)
        used = default_engine() if engine is None else check.instance(engine, Engine, "engine")
        options: Any = {
            "src_dtype": multiplied_type(activation),
            "src_group": activation_group,
            "fpmath": fpmath,
        }
        try:
            weights = pack_floats(array, rule, used, **options)
        except ScaleRangeError:
            weights = pack_floats(array, rule._replace(scale_type="f32"), used, **options)
        return cls._with_bias(weights, bias, activation, activation_group, dst_dtype, fpmath)

    @classmethod
    def from_quantized(
        cls,
        values: Any,
        scales: Any = None,
        zero_points: Any = None,
        *,
        offsets: Any = None,
        scale_factors: Any = None,
        offset_factors: Any = None,
        group: int | None = None,
        weights_dtype: DType | None = None,
        bias: Any = None,
        activation: Activation = "f32",
        activation_group: int | None = None,
        dst_dtype: DType | None = None,
        transposed: bool = False,
        fpmath: FpmathMode | None = None,
        engine: Engine | None = None,
    ) -> "Linear":
        """Take weights as they are: weights = scales * (values - zero_points), or scales * values + offsets.

        values: [K, N] or [E, K, N], an array or a CPU tensor of torch, of any type that
        zemm.matmul() takes as weights, also floating-point without scales. weights_dtype: the
        type of values that share bytes ("u4", "s4", "f4_e2m1", "u2"), the first in the lowest bits: u4 is
        [.., K, N / 2], or with transposed [.., N, K / 2].

        scales, zero_points, offsets: a number, [N] or [.., G, N] for G groups of K / G elements. offsets are
        floating-point, in place of zero points. group: the elements of K in a group, where that does not
        divide K: the last group is shorter then.

        scale_factors, offset_factors: floating-point, for int8 or uint8 scales and offsets, which are
        multiplied by them: a number, [N] or [.., G, N], with fewer groups than these have.

        transposed: values are [.., N, K], as torch and GGUF keep them; scales and the others are [.., N, G]
        then.

        bias: [N] or [E, N], floating-point.

        activation: the type in which x is multiplied. "f32", "f16" and "bf16": x of another type is
        converted. "int8": x is quantised at each call, with a scale for each row and group of
        activation_group elements (by default the weights' group), of which the last one may be shorter. It
        needs integer weights.
        "int7": the same with 7 bits, from -63 to 63, which CPUs that have AVX2 without VNNI multiply
        faster.

        dst_dtype: of the result; None: that of x, "f32" for f64. fpmath: as in zemm.matmul(). engine:
        by default a GPU if there is one, else the CPU.

        ValueError: shapes or types do not fit. NotImplementedError: no implementation takes the
        combination.
        """
        dst_dtype = _check_call(activation, activation_group, dst_dtype)
        weights_dtype = own_dtype(values, weights_dtype)
        array = as_array(values, "values")
        stored = (
            dtype_name(weights_dtype, "weights_dtype")
            if weights_dtype is not None
            else type_of(array, "values")
        )
        if activation in _QUANTISED and stored not in INTEGER_WEIGHTS:
            raise InvalidArgumentsError(
                f"activation {activation!r} needs integer weights, these are {stored}: quantise them"
            )
        parameters = {
            "scales": scales, "zero_points": zero_points, "offsets": offsets,
            "scale_factors": scale_factors, "offset_factors": offset_factors,
        }  # fmt: skip
        weights = pack(
            array,
            **{name: as_array(given, name) for name, given in parameters.items() if given is not None},
            group=group,
            src_dtype=multiplied_type(activation),
            src_group=activation_group,
            weights_dtype=weights_dtype,
            transposed=transposed,
            fpmath=fpmath,
            engine=engine,
        )
        return cls._with_bias(weights, bias, activation, activation_group, dst_dtype, fpmath)

    @classmethod
    def _with_bias(
        cls,
        weights: PackedWeights,
        bias: Any,
        activation: Activation,
        activation_group: int | None,
        dst_dtype: DataType | None,
        fpmath: FpmathMode | None,
    ) -> "Linear":
        """The layer of weights and of a bias that is not checked yet."""
        group = int(activation_group or weights.k_group)
        own_bias = _bias(bias, weights.dims) if bias is not None else None
        return cls._of(weights, own_bias, activation, group, dst_dtype, fpmath)

    @classmethod
    def _of(
        cls,
        weights: PackedWeights,
        bias: NDArray[Any] | None,
        activation: Activation,
        activation_group: int,
        dst_dtype: DataType | None,
        fpmath: FpmathMode | None,
    ) -> "Linear":
        """The layer of checked parts, which it keeps as they are. weights: packed for src of
        multiplied_type(activation)."""
        layer = cls.__new__(cls)
        layer.weights, layer.bias = weights, bias
        layer.activation, layer.activation_group = activation, activation_group
        layer.dst_dtype, layer.fpmath = dst_dtype, fpmath
        layer._calls = LinearCalls(
            weights, bias, activation in _QUANTISED, activation == "int7", activation_group, fpmath
        )
        return layer

    def state_dict(self, prefix: str = "") -> dict[str, NDArray[Any]]:
        """The layer as new arrays of numpy: values (not packed), scales, zero_points or offsets, factors of
        these, bias, and config, which is JSON as bytes. prefix: of the names."""
        w = self.weights
        parameters = {name: operand.parameter.values for name, operand in w._operands().items()}
        arrays = {"values": w.unpack(), **parameters, "bias": self.bias}
        settings = {
            "dims": w.dims,
            "weights_dtype": w.data_type,
            "activation": self.activation,
            "activation_group": self.activation_group if self.activation in _QUANTISED else None,
            "dst_dtype": self.dst_dtype,
            "fpmath": self.fpmath,
        }
        if (group := w._uneven_group()) is not None:
            settings["group"] = group
        return pack_state(arrays, settings, check.instance(prefix, str, "prefix"))

    @classmethod
    def from_state_dict(
        cls, state: Mapping[str, Any], prefix: str = "", *, engine: Engine | None = None
    ) -> "Linear":
        """The layer that state_dict() has described, packed for an engine. Arrays in other types than
        state_dict() gave them are converted if no number changes.

        ValueError: there is no layer with the prefix, or it is damaged: arrays are missing, or have other
        shapes, or numbers that their type in the layer cannot hold."""
        check.instance(state, Mapping, "state")  # type: ignore[type-abstract]
        if engine is not None:
            check.instance(engine, Engine, "engine")
        arrays, settings = unpack_state(state, check.instance(prefix, str, "prefix"))
        values = arrays.pop("values")
        dims = tuple(settings.pop("dims"))
        transposed = values.ndim == len(dims) > 1 and are_along_k(values, settings["weights_dtype"], dims)
        if transposed:
            values = values.swapaxes(-1, -2)
            for name in PARAMETERS:
                if arrays[name] is not None and arrays[name].ndim > 1:
                    arrays[name] = arrays[name].swapaxes(-1, -2)
        try:
            layer = cls.from_quantized(values, **arrays, transposed=transposed, engine=engine, **settings)
        except NoDeviceError:
            raise
        except InvalidArgumentsError as error:
            raise damaged(prefix, error) from None
        if layer.weights.dims != dims:
            raise damaged(prefix, f"its values are {layer.weights.dims}, its dims {dims}")
        return layer

    def save(self, path: str | PathLike[str], prefix: str = "") -> None:
        """Write the layer to a file, which any machine can load (safetensors, an optional package).
        save_layers() writes several to one file. ImportError: the package is missing."""
        write_arrays(path, self.state_dict(prefix))

    @classmethod
    def load(cls, path: str | PathLike[str], prefix: str = "", *, engine: Engine | None = None) -> "Linear":
        """The layer with a prefix of a file. OSError: the file cannot be read. ValueError: it has no
        such layer."""
        state = from_file(read_arrays(path))
        with about_file(path):
            return cls.from_state_dict(state, prefix, engine=engine)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy or a pickle has the plain values. It is packed again, on the default engine."""
        return Linear.from_state_dict, (self.state_dict(),)

    @property
    def engine(self) -> Engine:
        """The engine that the weights are on."""
        return self.weights.engine

    @property
    def in_features(self) -> int:
        """K"""
        return self.weights.dims[-2]

    @property
    def out_features(self) -> int:
        """N"""
        return self.weights.dims[-1]

    @property
    def experts(self) -> int | None:
        """E of [E, K, N]; None for one matrix."""
        return self.weights.dims[0] if len(self.weights.dims) == 3 else None

    def __call__(
        self,
        x: Any,
        out: Any = None,
        *,
        expert: int | None = None,
        group_sizes: Sequence[int] | NDArray[Any] | None = None,
        stream: Stream | None = None,
    ) -> Any:
        """y = x @ weights + bias, [.., N], of the same kind as x: an array or a tensor of torch.

        x: [.., K]. With experts it is [E, M, K], or [.., K] and the index of one expert, or [M, K] and
        group_sizes. A dense, row-major x of a type that the layer multiplies is not copied.

        group_sizes: for each expert the number of its rows, 0 or more. The rows of the first expert come
        first, then those of the second, and so on; they are M together. One matmul multiplies all.

        out: the tensor to write to, of y's shape and type, with any strides; it may overlap x.

        stream: submit the work there and do not wait. Until stream.wait() has returned, y is not
        complete, and x and out must not change; both are kept alive. x may be the y of an earlier call with
        this stream. A call waits all the same if the engine is a GPU, or if the host copies: x, which is
        not dense or has another type than the layer multiplies, or the result, as out is not dense or
        overlaps x.

        ValueError: shapes or types do not fit, or a tensor of torch needs a gradient. IndexError:
        there is no such expert.
        """
        if stream is not None:
            check_stream(stream, self.engine)
            if not hasattr(x, "dtype"):
                stream._settle()
        host = host_of(x)
        tensor = host.check(x, "x")
        in_groups = group_sizes is not None
        if expert is not None and type(expert) is not int:
            expert = self._expert(expert)
        key = host, tensor.dtype, tensor.shape, expert, in_groups
        plan = self._calls.kept.plans.get(key) or self._plan(key, tensor)
        sizes = self._sizes(group_sizes, plan) if in_groups else None
        if out is not None:
            check_out(host, out, plan.shape, plan.dst_dtype)
        if plan.is_empty:
            return out if out is not None else host.empty(plan.form, tensor)
        if plan.converts or not host.is_plain(tensor):
            if stream is not None:
                stream._settle()
            tensor = host.plain(tensor, plan.call_key[1])
        call = plan.call or self._calls.bind(plan)
        if out is None:
            result = host.empty(plan.form, tensor)
            call.run(host, tensor, result, stream, sizes)
            return result
        in_place = host.is_plain(out) and not overlap(host, tensor, out)
        result = out if in_place else host.empty(plan.form, tensor)
        call.run(host, tensor, result, stream, sizes)
        if not in_place:
            if stream is not None:
                stream.wait()
            host.copy(out, result)
        return out

    def _plan(self, key: tuple[Any, ...], x: Any) -> Plan:
        """Plans a call with such an x. ValueError: x does not fit."""
        host, _, _, expert, in_groups = key
        data_type, shape = host.type_name(x, "x"), tuple(x.shape)
        if in_groups and (self.experts is None or expert is not None):
            raise InvalidArgumentsError(
                "group_sizes are given, but the layer has no experts"
                if self.experts is None
                else "both expert and group_sizes are given"
            )
        dst_shape, rows = self._dst_shape(shape, expert, in_groups)
        dst_dtype, src_dtype = self._dst_dtype(data_type), self._src_dtype(data_type)
        call_key = rows, src_dtype, dst_dtype, expert, in_groups
        plan = Plan(
            shape, dst_shape, dst_dtype, host.form(dst_shape, dst_dtype), data_type != src_dtype, call_key
        )
        return self._calls.keep_plan(key, plan)

    def _expert(self, expert: Any) -> int:
        if self.experts is not None and isinstance(expert, np.integer):
            return int(expert)
        given = "is given, but the layer has no experts" if self.experts is None else "is not an integer"
        raise InvalidArgumentsError(f"expert {expert!r} {given}")

    def _sizes(self, group_sizes: Any, plan: Plan) -> NDArray[np.int64]:
        """The number of rows of each expert. ValueError: they are no such numbers, or those of other rows;
        a call that is not empty finds out by itself."""
        sizes = check.array(group_sizes, "group_sizes")
        if sizes.shape != (self.experts,) or sizes.dtype.kind not in "iu":
            raise InvalidArgumentsError(
                f"group_sizes are {group_sizes!r}, not {self.experts} numbers of rows, one for each expert"
            )
        sizes = np.ascontiguousarray(sizes, np.int64)
        if plan.is_empty or len(plan.src_shape) != 2:
            check_sizes(sizes, plan.src_shape)
        return sizes

    def _dst_shape(self, shape: Shape, expert: int | None, in_groups: bool = False) -> tuple[Shape, int]:
        """The shape of y, and the rows of each matrix, or of all groups. ValueError: x does not fit."""
        k, n = self.weights.dims[-2:]
        if self.experts is None and expert is not None:
            raise InvalidArgumentsError(f"expert {expert!r} is given, but the layer has no experts")
        if not shape or shape[-1] != k:
            raise InvalidArgumentsError(f"x has shape {shape}, the layer takes [.., {k}]")
        if self.experts is not None and expert is None and not in_groups:
            if len(shape) != 3 or shape[0] != self.experts:
                raise InvalidArgumentsError(
                    f"x has shape {shape}, the layer takes [{self.experts}, M, {k}], or [.., {k}] and the"
                    " index of an expert, or [M, {k}] and group_sizes"
                )
            return (*shape[:-1], n), shape[1]
        rows = 1
        for size in shape[:-1]:
            rows *= size
        return (*shape[:-1], n), rows

    def _dst_dtype(self, data_type: DataType) -> DataType:
        if data_type not in (*_FLOATS, "f64"):
            raise InvalidArgumentsError(f"x has type {data_type}, not one of {', '.join(_FLOATS)}, f64")
        return self.dst_dtype or (data_type if data_type in _FLOATS else "f32")

    def _src_dtype(self, data_type: DataType) -> DataType:
        """The type that x is converted to, on the host."""
        multiplied = multiplied_type(self.activation)
        if multiplied == "s8":
            return data_type if data_type in _FLOATS else "f32"
        return multiplied

    def __repr__(self) -> str:
        k, n = self.weights.dims[-2:]
        experts = f"{self.experts} experts, " if self.experts is not None else ""
        group = f" in groups of {self.weights.k_group}" if self.weights.k_group != k else ""
        scales = self.weights.scales
        scaled = f" with {scales.parameter.data_type} scales" if scales is not None else ""
        bias = f" + {type_of(self.bias, 'bias')} bias" if self.bias is not None else ""
        return (
            f"<Linear {experts}[.., {k}] -> [.., {n}]:"
            f" {self.activation} x {self.weights.data_type}{group}{scaled}{bias}"
            f" -> {self.dst_dtype or 'type of x (f32 for f64)'}, {self.weights.md._layout()},"
            f" {self.weights.nbytes} bytes on {self.engine!r}>"
        )


def _check_call(
    activation: Activation, activation_group: int | None, dst_dtype: DType | None
) -> DataType | None:
    """Check how a layer is called, and return the name of dst_dtype."""
    check.choice(activation, Activation, "activation")
    name = dtype_name(dst_dtype, "dst_dtype") if dst_dtype is not None else None
    if name not in (None, *_FLOATS):
        raise InvalidArgumentsError(f"dst_dtype {name} is none of {', '.join(_FLOATS)}")
    if activation_group is None:
        return name
    if activation not in _QUANTISED:
        raise InvalidArgumentsError(
            f"activation_group {check.shown(activation_group)} is for activations 'int8' and 'int7', not"
            f" {activation!r}"
        )
    check_group(activation_group, "activation_group")
    return name


def _bias(bias: Any, dims: Shape) -> NDArray[Any]:
    """A copy of the bias, [N] or [E, N]."""
    array = owned(as_float32(as_array(bias, "bias"), "bias"))
    shape = (*dims[:-2], dims[-1])
    if type_of(array, "bias") not in _FLOATS:
        raise InvalidArgumentsError(f"bias has type {array.dtype}, not one of {', '.join(_FLOATS)}")
    if array.shape != shape:
        raise InvalidArgumentsError(f"bias has shape {array.shape}, weights {dims} need {shape}")
    return array
