# SPDX-License-Identifier: Apache-2.0
"""zemm.Linear: a linear layer with quantised weights that are packed once."""

import threading
from collections import OrderedDict
from typing import Any

from numpy.typing import NDArray

from zemm._host_tensors import Host, as_array, host_of
from zemm._library import ARG, RUNTIME_DIM
from zemm._linear_call import LinearCall
from zemm._numbers import as_float32
from zemm._quantize_linear import quantize_linear
from zemm._reorder import quantizing_attr
from zemm._tensors import tensor
from zemm.dtypes import dtype_name, type_of
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.packed_weights import PackedWeights, layout_of, matmul_desc, pack, rows_of
from zemm.primitive import Primitive, ReorderPrimitiveDesc

Shape = tuple[int, ...]
ACTIVATIONS = ("f32", "f16", "bf16", "int8")
_FLOATS = ("f32", "f16", "bf16")
_INTEGERS = ("u8", "s8", "u4", "s4")
MOST_CALLS = 64  # numbers of rows (times types and experts) whose objects a thread keeps


class Linear:
    """y = x @ weights + bias, with weights that are quantised and packed once.

        layer = zemm.Linear.from_float(w, bias, bits=4, group=128)
        y = layer(x)

    weights: [K, N], or [E, K, N] for E experts. Made by from_float(), from_quantized() or load().
    Immutable; any number of threads may call a layer at once.
    """

    weights: PackedWeights
    bias: NDArray[Any] | None
    activation: str
    activation_group: int
    dst_dtype: str | None
    fpmath: str | None

    @classmethod
    def from_float(
        cls,
        w: Any,
        bias: Any = None,
        *,
        bits: int = 8,
        group: int | None = 128,
        symmetric: bool = False,
        scale_dtype: str = "f32",
        activation: str = "f32",
        activation_group: int | None = None,
        dst_dtype: Any = None,
        transposed: bool = False,
        fpmath: str | None = None,
        engine: Engine | None = None,
    ) -> "Linear":
        """Quantise the weights w to 8 or 4 bits.

        w: [K, N] or [E, K, N], an array or a CPU tensor of torch, floating-point. transposed: w is
        [.., N, K], as in torch.nn.Linear.

        group: elements of K that share a scale; None: all of K. symmetric: signed values without
        zero points, else unsigned ones with zero points. scale_dtype: "f32", "f16" or "bf16".

        The other arguments are those of from_quantized(). ValueError: shapes or types do not fit, or
        a weight is not finite.
        """
        values, scales, zero_points, weights_dtype = quantize_linear(
            as_array(w, "w"), bits, group, symmetric, scale_dtype, transposed
        )
        return cls.from_quantized(
            values,
            scales,
            zero_points,
            weights_dtype=weights_dtype,
            bias=bias,
            activation=activation,
            activation_group=activation_group,
            dst_dtype=dst_dtype,
            fpmath=fpmath,
            engine=engine,
        )

    @classmethod
    def from_quantized(
        cls,
        values: Any,
        scales: Any = None,
        zero_points: Any = None,
        *,
        weights_dtype: str | None = None,
        bias: Any = None,
        activation: str = "f32",
        activation_group: int | None = None,
        dst_dtype: Any = None,
        transposed: bool = False,
        fpmath: str | None = None,
        engine: Engine | None = None,
    ) -> "Linear":
        """Take weights as they are: weights = scales * (values - zero_points).

        values: [K, N] or [E, K, N], an array or a CPU tensor of torch, of any type that
        zemm.matmul() takes as weights, also floating-point without scales. weights_dtype: "u4",
        "s4" or "f4_e2m1" if values are bytes with two of these each, low nibble first: [.., K, N /
        2], or with transposed [.., N, K / 2].

        scales, zero_points: a number, [N] or [.., G, N] for G groups of K / G elements.

        transposed: values are [.., N, K], as torch and GGUF keep them; scales and zero_points are
        [.., N, G] then.

        bias: [N] or [E, N], floating-point.

        activation: the type in which x is multiplied. "f32", "f16" and "bf16": x of another type is
        converted. "int8": x is quantised at each call, with a scale for each row and group of
        activation_group elements (by default the group of the weights); it needs integer weights.

        dst_dtype: of the result; None: that of x. fpmath: as in zemm.matmul(). engine: by default a
        GPU if there is one, else the CPU.

        ValueError: shapes or types do not fit. NotImplementedError: no implementation takes the
        combination.
        """
        if activation not in ACTIVATIONS:
            raise InvalidArgumentsError(f"activation {activation!r} is none of {', '.join(ACTIVATIONS)}")
        layer = cls()
        layer.weights = pack(
            as_array(values, "values"),
            *(
                as_array(v, name) if v is not None else None
                for v, name in ((scales, "scales"), (zero_points, "zero_points"))
            ),
            src_dtype="s8" if activation == "int8" else activation,
            src_group=activation_group,
            weights_dtype=weights_dtype,
            transposed=transposed,
            fpmath=fpmath,
            engine=engine,
        )
        layer.activation, layer.fpmath = activation, fpmath
        layer.activation_group = _activation_group(layer.weights, activation, activation_group)
        layer.dst_dtype = dtype_name(dst_dtype) if dst_dtype is not None else None
        layer.bias = _bias(bias, layer.weights.dims) if bias is not None else None
        layer._prepare()
        return layer

    def _prepare(self) -> None:
        """Make what a new, copied or loaded layer has besides its weights."""
        self._lock = threading.Lock()  # for the two dicts; both only grow, by few entries
        self._primitives: dict[tuple[Any, ...], Primitive] = {}
        self._targets: dict[int | None, tuple[PackedWeights, Memory | None]] = {}
        self._local = threading.local()

    @property
    def engine(self) -> Engine:
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
        self, x: Any, out: Any = None, *, expert: int | None = None, stream: Stream | None = None
    ) -> Any:
        """y = x @ weights + bias, [.., N], of the same kind as x: an array or a tensor of torch.

        x: [.., K]. With experts it is [E, M, K], or [.., K] and the index of one expert. A dense,
        row-major x of a type that the layer multiplies is not copied.

        out: the tensor to write to, of y's shape and type, with any strides; it may overlap x.

        stream: submit the work there and do not wait. Until stream.wait() has returned, y is not
        complete, and x and out must not change; both are kept alive. A call waits all the same if
        the engine is a GPU, or if out is not dense or overlaps x, as the host copies the result
        then.

        ValueError: shapes or types do not fit, or a tensor of torch needs a gradient.
        """
        host = host_of(x)
        tensor = host.check(x, "x")
        data_type = host.type_name(tensor, "x")
        shape = tuple(tensor.shape)
        dst_shape, rows = self._dst_shape(shape, expert)
        dst_dtype = self._dst_dtype(data_type)
        if out is not None:
            _check_out(host, out, dst_shape, dst_dtype)
        if stream is not None and (not isinstance(stream, Stream) or stream.engine is not self.engine):
            raise InvalidArgumentsError(f"stream {stream!r} is no stream of the layer's {self.engine!r}")
        if 0 in dst_shape:
            return out if out is not None else host.empty(dst_shape, dst_dtype)
        src_dtype = self._src_dtype(data_type)
        if data_type != src_dtype or not host.is_plain(tensor):
            tensor = host.plain(tensor, src_dtype)
        in_place = out is not None and host.is_plain(out) and not _overlap(host, tensor, out)
        result = out if in_place else host.empty(dst_shape, dst_dtype)
        self._call_for(rows, src_dtype, dst_dtype, expert).run(host, tensor, result, stream)
        if out is None or in_place:
            return result
        if stream is not None:
            stream.wait()
        host.copy(out, result)
        return out

    def _dst_shape(self, shape: Shape, expert: int | None) -> tuple[Shape, int]:
        """The shape of y, and the rows of each matrix. ValueError: x does not fit."""
        k, n = self.weights.dims[-2:]
        if self.experts is None and expert is not None:
            raise InvalidArgumentsError(f"expert {expert!r} is given, but the layer has no experts")
        if not shape or shape[-1] != k:
            raise InvalidArgumentsError(f"x has shape {shape}, the layer takes [.., {k}]")
        if self.experts is not None and expert is None:
            if len(shape) != 3 or shape[0] != self.experts:
                raise InvalidArgumentsError(
                    f"x has shape {shape}, the layer takes [{self.experts}, M, {k}], or [.., {k}] and the"
                    " index of an expert"
                )
            return (*shape[:-1], n), shape[1]
        rows = 1
        for size in shape[:-1]:
            rows *= size
        return (*shape[:-1], n), rows

    def _dst_dtype(self, data_type: str) -> str:
        if data_type not in (*_FLOATS, "f64"):
            raise InvalidArgumentsError(f"x has type {data_type}, not one of {', '.join(_FLOATS)}, f64")
        return self.dst_dtype or (data_type if data_type in _FLOATS else "f32")

    def _src_dtype(self, data_type: str) -> str:
        """The type that x is converted to, on the host."""
        if self.activation != "int8":
            return self.activation
        return data_type if data_type in _FLOATS else "f32"

    def _call_for(self, rows: int, src_dtype: str, dst_dtype: str, expert: int | None) -> LinearCall:
        """This thread's objects for a number of rows."""
        calls: OrderedDict[tuple[Any, ...], LinearCall] | None = getattr(self._local, "calls", None)
        if calls is None:
            calls = self._local.calls = OrderedDict()
        key = (rows, src_dtype, dst_dtype, expert)
        call = calls.get(key)
        if call is not None:
            calls.move_to_end(key)
            return call
        call = calls[key] = self._new_call(*key)
        if len(calls) > MOST_CALLS:
            calls.popitem(last=False)
        return call

    def _new_call(self, rows: int, src_dtype: str, dst_dtype: str, expert: int | None) -> LinearCall:
        with self._lock:
            weights, bias = self._target(expert)
            matmul = self._matmul(weights, bias, src_dtype, dst_dtype)
            quantize = self._quantize(weights, src_dtype) if self.activation == "int8" else None
        *batch, k, n = weights.dims
        args = weights.memories()
        if bias is not None:
            args[ARG["BIAS"]] = bias
        src, dst = ((*batch, rows, k), src_dtype), ((*batch, rows, n), dst_dtype)
        return LinearCall(matmul, args, src, dst, quantize, self.activation_group)

    def _target(self, expert: int | None) -> tuple[PackedWeights, Memory | None]:
        """The weights and the bias of an expert, or of all."""
        if expert not in self._targets:
            weights = self.weights if expert is None else self.weights[expert]
            memory = None
            if self.bias is not None:
                bias = self.bias if expert is None else self.bias[expert]
                bias = bias.reshape(*bias.shape[:-1], 1, bias.shape[-1])
                memory = tensor(bias, type_of(bias, "bias"), bias.ndim, self.engine).memory(self.engine)
            self._targets[expert] = weights, memory
        return self._targets[expert]

    def _matmul(
        self, weights: PackedWeights, bias: Memory | None, src_dtype: str, dst_dtype: str
    ) -> Primitive:
        key = ("matmul", len(weights.dims), src_dtype, dst_dtype)
        if key not in self._primitives:
            pd = matmul_desc(
                weights,
                weights.md,
                "s8" if self.activation == "int8" else src_dtype,
                dst_dtype,
                fpmath=self.fpmath,
                src_group=self.activation_group,
                bias=bias.md if bias is not None else None,
            )
            self._primitives[key] = Primitive(pd)
        return self._primitives[key]

    def _quantize(self, weights: PackedWeights, src_dtype: str) -> Primitive:
        key = ("quantize", len(weights.dims), src_dtype)
        if key not in self._primitives:
            *batch, k, _ = weights.dims
            src, dst = (rows_of(batch, RUNTIME_DIM, k, name) for name in (src_dtype, "s8"))
            attr = quantizing_attr(len(weights.dims), self.activation_group, "f32", "s8")
            self._primitives[key] = Primitive(ReorderPrimitiveDesc(self.engine, src, dst, attr))
        return self._primitives[key]

    def __repr__(self) -> str:
        k, n = self.weights.dims[-2:]
        experts = f"{self.experts} experts, " if self.experts is not None else ""
        group = f" in groups of {self.weights.k_group}" if self.weights.k_group != k else ""
        bias = f" + {type_of(self.bias, 'bias')} bias" if self.bias is not None else ""
        return (
            f"<Linear {experts}[.., {k}] -> [.., {n}]:"
            f" {self.activation} x {self.weights.data_type}{group}{bias}"
            f" -> {self.dst_dtype or 'type of x'}, {layout_of(self.weights.md)},"
            f" {self.weights.nbytes} bytes on {self.engine!r}>"
        )


def _activation_group(weights: PackedWeights, activation: str, group: int | None) -> int:
    if activation != "int8":
        if group is not None:
            raise InvalidArgumentsError(
                f"activation_group {group} is for activation 'int8', not {activation!r}"
            )
        return weights.k_group
    if weights.data_type not in _INTEGERS:
        raise InvalidArgumentsError(
            f"activation 'int8' needs integer weights, these are {weights.data_type}: quantise them"
        )
    return group if group is not None else weights.k_group


def _bias(bias: Any, dims: Shape) -> NDArray[Any]:
    """A copy of the bias, [N] or [E, N]."""
    array = as_float32(as_array(bias, "bias"), "bias").copy()
    shape = (*dims[:-2], dims[-1])
    if type_of(array, "bias") not in _FLOATS:
        raise InvalidArgumentsError(f"bias has type {array.dtype}, not one of {', '.join(_FLOATS)}")
    if array.shape != shape:
        raise InvalidArgumentsError(f"bias has shape {array.shape}, weights {dims} need {shape}")
    return array


def _check_out(host: Host, out: Any, shape: Shape, data_type: str) -> None:
    host.check_writable(out)
    if tuple(out.shape) != shape:
        raise InvalidArgumentsError(f"out has shape {tuple(out.shape)}, y is {shape}")
    own = host.type_name(out, "out")
    if own != data_type:
        raise InvalidArgumentsError(f"out has type {own}, y has {data_type}")


def _overlap(host: Host, x: Any, out: Any) -> bool:
    """Whether two plain tensors share bytes."""
    a, b = host.address(x), host.address(out)
    return a < b + out.nbytes and b < a + x.nbytes
