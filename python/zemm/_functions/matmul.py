# SPDX-License-Identifier: Apache-2.0
"""zemm.matmul(): multiplies numpy arrays in one call."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._arrays.operands import (
    Parameter,
    Tensor,
    bytes_of_weights,
    describe,
    describe_src,
    factored_values,
    in_place,
    offset_values,
    operand,
    reduction_values,
    scale_values,
    set_fpmath,
    shares_places,
    tensor,
    unpacked,
    weights_zero_point_values,
    zero_point_values,
)
from zemm._arrays.scales import check_group
from zemm._functions.post_op_entries import append_entry
from zemm._library import check
from zemm._library.codes import items_of
from zemm._library.library import ARG
from zemm.attributes import Attr, PostOps
from zemm.dtypes import SUB_BYTE, as_float32, dtype_name, numpy_dtype, own_dtype, type_of
from zemm.engine import Engine, Stream, check_stream, default_engine, stream_of
from zemm.errors import InvalidArgumentsError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.packed_weights import PackedWeights
from zemm.primitive import MatmulPrimitiveDesc, Primitive
from zemm.quantization import QuantizedWeights
from zemm.words import DataType, DType, FpmathMode, PostOp

Shape = tuple[int, ...]

# Types of parameters that are not converted, as numpy names them.
_FLOATS, _INTEGERS = ("float32", "float16", "bfloat16"), ("int32", "int8", "uint8")
_INSTEAD_OF_0 = 4  # a number of elements that types of fewer than 8 bits can also have


def matmul(
    src: ArrayLike,
    weights: ArrayLike | QuantizedWeights | PackedWeights,
    bias: ArrayLike | None = None,
    *,
    dst_dtype: DType | None = None,
    weights_dtype: DType | None = None,
    src_scales: ArrayLike | None = None,
    src_zero_points: ArrayLike | None = None,
    weights_scales: ArrayLike | None = None,
    weights_zero_points: ArrayLike | None = None,
    weights_offsets: ArrayLike | None = None,
    weights_scale_factors: ArrayLike | None = None,
    weights_offset_factors: ArrayLike | None = None,
    dst_scales: ArrayLike | None = None,
    dst_zero_points: ArrayLike | None = None,
    reductions: ArrayLike | None = None,
    src_group: int | None = None,
    weights_group: int | None = None,
    reduced_range: bool = False,
    saturation: bool = False,
    post_ops: Iterable[PostOp] = (),
    fpmath: FpmathMode | None = None,
    engine: Engine | None = None,
    out: NDArray[Any] | None = None,
    stream: Stream | None = None,
) -> NDArray[Any]:
    """dst = post_ops(real(src) @ real(weights) + bias) / dst_scales + dst_zero_points

    where real(x) = scales * (x - zero_points). dst has the shape [.., M, N].

        values, scales, reductions = zemm.quantize_activations(x)
        wq, ws, wz = zemm.quantize_weights(w, bits=8)
        y = zemm.matmul(values, wq, src_scales=scales, weights_scales=ws, weights_zero_points=wz,
                        reductions=reductions, dst_dtype="f16")

    src: [.., M, K]. weights: [.., K, N]. Leading dimensions broadcast as in numpy, and a sum over
    K = 0 products is 0. The data type is that of the array: float16, float32, int8, uint8, or bfloat16,
    float8_e5m2 and float8_e4m3fn of ml_dtypes. Transposed views are not copied.

    weights_dtype: the type of values that share bytes ("u4", "s4", "f4_e2m1", "u2"), the first in the lowest
    bits. Of u4 the shape is [.., K, N / 2], or they are the transpose of [.., N, K / 2]. Arrays of
    ml_dtypes.int4, uint4, float4_e2m1fn and uint2 need no weights_dtype; matmul() packs them. Those of
    zemm.quantize_weights() know their type.

    weights may also be the result of zemm.quantize_weights(), which has scales and zero points, as in
    zemm.matmul(x, zemm.quantize_weights(w, bits=4)), or that of zemm.pack(), which has scales, zero
    points or offsets, factors, and engine: weights_dtype and the other arguments that describe weights are
    not given then.

    bias: an array that broadcasts to dst.

    dst_dtype: the data type of dst, by default src's if that is f16, bf16 or f64, else "f32". With
    an int8 or uint8 src, sums over K are exact, or sums over each group if scales have groups.
    "s32" without scales, bias, post_ops and dst_zero_points is the sum modulo 2^32: it may wrap if
    K is more than 33025.

    Quantisation parameters. Their shape says what they belong to:
    - src_scales, src_zero_points: a number, or [.., M, G] for G groups of K / G elements
    - weights_scales, weights_zero_points, weights_offsets: a number, [N] (one for each column) or
      [.., G, N] (one for each group and column)
    - dst_scales, dst_zero_points: a number or [N]
    - reductions: int32 [.., M, G], the sums of src over each group. With them zero points of
      weights need no extra pass over src (oneDNN RFC "User's Precomputed Reductions for GeMM").
      They are ignored unless each of their groups lies within one group of every scale and zero
      point.
    Scales are float32, float16, bfloat16, or float8_e8m0fnu and float8_e4m3fn of ml_dtypes.
    Zero points are int32, int8 or uint8; those of integer weights may be float32, float16 or bfloat16.
    weights_offsets, in place of zero points, are such floats: integer weights are then weights_scales *
    weights + weights_offsets. weights_scale_factors and weights_offset_factors are such floats, too: int8 or
    uint8 scales, and offsets, are multiplied by them. Their groups are multiples of those.
    A group of K may have any size, and each parameter may have its own. The fastest kernels need multiples
    of 4 on a CPU and of 32 on a GPU.

    src_group, weights_group: the elements of K in a group, where that does not divide K: the last group is
    shorter then. Parameters with as many groups as K has of these have such groups, others G that divide K.

    reduced_range: the values of src have 7 bits, -64..63 (int8) or 0..127 (uint8), as those of
    zemm.quantize_activations(.., reduced_range=True). CPUs that have AVX2 without VNNI multiply them
    faster. With other values the result is wrong.

    saturation: values that are too large for a float8 dst become its largest value. By default they are
    infinite (float8_e5m2) or NaN (float8_e4m3fn).

    post_ops: applied in order. Each is a name or a tuple that begins with a name; the prefixes
    eltwise_ and binary_ may be left out. x is the result so far, and `array` broadcasts to dst.
        ("relu", slope = 0), ("elu", alpha = 1), ("linear", alpha = 1, beta = 0): alpha * x + beta,
        "gelu" (gelu_erf), "gelu_tanh", "silu" (("swish", alpha = 1): x * sigmoid(alpha * x)), "mish",
        "sigmoid" (logistic), "tanh", "exp", "log", "sqrt", "square", "abs", "round",
        ("softplus", alpha = 1) (soft_relu), ("hardsigmoid" or "hardswish", alpha = 1/6, beta = 1/2),
        ("clip", low, high), ("pow", factor, exponent): factor * x ** exponent
        ("add", array), "sub", "mul", "div", "max", "min", "ge", "gt", "le", "lt", "eq", "ne" likewise
        ("select", array, condition): x where the condition (int8 or uint8) is not 0, else array
        ("prelu", array): x where x >= 0, else x * array
        ("sum", scale = 1): x + scale * old dst; "mul_inplace": x * old dst. They need `out`

    fpmath: "strict", "bf16", "f16", "tf32" or "any". Integer weights are converted to the type of a
    floating-point src; the default mode is then that of the type.

    engine: by default a GPU if there is one, else the CPU.

    out: the array to write to, with dst's shape and data type and any strides. It may overlap the
    inputs.

    stream: submit the work there and do not wait. Until stream.wait() has returned, dst is not
    complete and the arrays must not change; all of them are kept alive. Arrays may be results of earlier
    calls with this stream. The call waits all the same if the host has to copy the result: on a GPU, and if
    `out` overlaps an input or has strides that a memory cannot have. It waits for earlier calls if the host
    may have to convert an argument: one that is not dense and row-major, or of another type than the
    device takes; several rows of bias; scales and zero points of dst; tensors of post-ops.

    ValueError: shapes or types do not fit; the message has their values. NotImplementedError: no
    implementation takes the combination. RuntimeError: there is no device, or it failed.
    """
    packed = weights if isinstance(weights, PackedWeights) else None
    if isinstance(weights, QuantizedWeights):
        of_weights_given = (
            weights_scales, weights_zero_points, weights_offsets, weights_scale_factors,
            weights_offset_factors,
        )  # fmt: skip
        if any(given is not None for given in of_weights_given):
            raise InvalidArgumentsError(
                "weights_scales, weights_zero_points, weights_offsets or factors are given, but quantised"
                " weights have their own: leave them out"
            )
        weights, weights_scales, weights_zero_points = weights
    if isinstance(stream, Stream) and not (
        all(_stays(given) for given in (src, weights))
        and all(_stays(g, _FLOATS) for g in (src_scales, weights_scale_factors, weights_offset_factors))
        and _stays(weights_scales, _FLOATS if weights_scale_factors is None else _INTEGERS)
        and _stays(weights_offsets, _FLOATS if weights_offset_factors is None else _INTEGERS)
        and all(_stays(given, _INTEGERS) for given in (src_zero_points, weights_zero_points, reductions))
        and (bias is None or (_stays(bias, _FLOATS) and np.ndim(bias) == 1))
        and dst_scales is dst_zero_points is None
        and not _have_tensors(post_ops)
    ):
        stream._settle()
    weights_dtype = own_dtype(weights, weights_dtype)
    a = operand(src, "src")
    b = np.empty(0) if isinstance(weights, PackedWeights) else operand(weights, "weights")
    dims = b.shape if packed is None else packed.dims
    a_dtype = type_of(a, "src")
    if a.ndim < 2 or len(dims) < 2:
        raise InvalidArgumentsError(f"src {a.shape} and weights {dims} must have two dimensions or more")
    if a_dtype in SUB_BYTE:
        raise InvalidArgumentsError(
            f"src has type {a_dtype}: arrays of types of fewer than 8 bits are for weights; a memory may"
            " have an f4_e2m1 src"
        )
    packed_axis = None
    if packed is not None:
        packed._refuse_beside(
            engine, weights_dtype, weights_scales, weights_zero_points, weights_offsets,
            weights_scale_factors, weights_offset_factors,
        )  # fmt: skip
        b_dtype, engine = packed.data_type, packed.engine
    else:
        b, b_dtype, packed_axis = bytes_of_weights(b, weights_dtype, a.shape)
        dims = unpacked(b.shape, packed_axis, b_dtype)
    shape = _dst_shape(a.shape, dims)
    dst_dtype = _dst_dtype(a_dtype, dst_dtype, out, shape)
    if 0 in shape:
        return out if out is not None else np.empty(shape, numpy_dtype(dst_dtype))

    on = default_engine() if engine is None else check.instance(engine, Engine, "engine")
    # The layout of packed weights has as many dimensions as they have.
    flat = len(dims) == 2 if packed is not None else set(dims[:-2]) <= {1}
    call = _Call(on, shape, flat, stream)
    call.set_src(a, a_dtype)
    if packed is not None:
        call.set_packed_weights(packed)
        weights_dims = packed.dims
    else:
        weights_dims = call.set_weights(b, b_dtype, packed_axis)
    if bias is not None:
        call.set_bias(bias)
    for what, group in (("src_group", src_group), ("weights_group", weights_group)):
        if group is not None:
            check_group(group, what)

    def of_src(values: NDArray[Any], name: str, common: bool = True) -> Parameter:
        return describe_src(values, name, a.shape, len(call.dims), call.flat, common, src_group)

    def of_weights(values: NDArray[Any], name: str) -> Parameter:
        return describe(values, name, "weights", weights_dims, weights_group)

    def of_dst(values: NDArray[Any], name: str) -> Parameter:
        values = values.astype(np.int32) if name == "dst_zero_points" else values
        return describe(values, name, "dst", call.dims)

    scales_of_weights = scale_values if weights_scale_factors is None else factored_values
    offsets_of_weights = offset_values if weights_offset_factors is None else factored_values
    for name, given, values_of, described in (
        ("src_scales", src_scales, scale_values, of_src),
        ("src_zero_points", src_zero_points, zero_point_values, of_src),
        ("weights_scale_factors", weights_scale_factors, offset_values, of_weights),
        ("weights_scales", weights_scales, scales_of_weights, of_weights),
        ("weights_zero_points", weights_zero_points, weights_zero_point_values, of_weights),
        ("weights_offset_factors", weights_offset_factors, offset_values, of_weights),
        ("weights_offsets", weights_offsets, offsets_of_weights, of_weights),
        ("dst_scales", dst_scales, scale_values, of_dst),
        ("dst_zero_points", dst_zero_points, zero_point_values, of_dst),
    ):
        if given is not None:
            of, _, kind = name.partition("_")
            call.set_parameter(of.upper(), kind, described(values_of(given, name), name))
    if reductions is not None:
        values = reduction_values(reductions, "reductions")
        call.set_reductions(of_src(values, "reductions", common=False))
    set_fpmath(call.attr, a_dtype, b_dtype, fpmath)
    if check.flag(reduced_range, "reduced_range"):
        call.attr.set_reduced_range(ARG["SRC"])
    if check.flag(saturation, "saturation"):
        call.attr.set_saturation()
    call.set_post_ops(post_ops, None if out is None else dst_dtype)
    return call.run(dst_dtype, out)


def _stays(given: Any, types: tuple[str, ...] = ()) -> bool:
    """Whether the host reads no element of an argument that may be the result of earlier work. types: of
    arrays that are not converted; none: all of them."""
    if isinstance(given, QuantizedWeights):
        return all(map(_stays, given))
    if isinstance(given, np.ndarray):
        is_plain = given.flags.c_contiguous and given.flags.aligned and given.dtype.isnative
        return bool(is_plain and (not types or given.dtype.name in types))
    return given is None or isinstance(given, (int, float, PackedWeights))


def _have_tensors(post_ops: Any) -> bool:
    """Whether post-ops have more than names and numbers, or are wrong."""
    entries = post_ops if isinstance(post_ops, (list, tuple)) else [None]
    parts = [entry if isinstance(entry, tuple) else (entry,) for entry in entries]
    return not all(isinstance(part, (str, int, float)) for entry in parts for part in entry)


class _Call:
    """The arguments of one zemm.matmul() call. shape: dst's shape for the caller; dims: for the
    primitive.

    flat: the weights are one matrix, so the leading dimensions of src are merged with its rows, and
    the primitive is two-dimensional. stream: where run() submits without waiting.
    """

    def __init__(self, engine: Engine, shape: Shape, flat: bool, stream: Stream | None = None) -> None:
        if stream is not None:
            check_stream(stream, engine)
        self.engine = engine
        self.stream = stream
        self.shape = shape
        self.flat = flat
        self.dims: Shape = (int(np.prod(shape[:-1])), shape[-1]) if flat else shape
        self.attr = Attr()
        self._mds: dict[int, MemoryDesc] = {}
        self._memories: dict[int, Memory] = {}
        self._inputs: list[NDArray[Any]] = []
        self._reads_old_dst = False
        self._are_dst: list[int] = []  # arguments that are dst
        self._k_groups: list[int] = []
        # For K = 0 the library writes nothing. Zeros are multiplied instead. Then scales and
        # zero points of src and weights belong to nothing.
        self._k_is_0 = False

    def _add(self, arg: int, t: Tensor) -> None:
        self._mds[arg] = t.md()
        self._memories[arg] = t.memory(self.engine)
        self._inputs.append(t.array)

    def set_src(self, array: NDArray[Any], data_type: DataType) -> None:
        if array.shape[-1] == 0:
            self._k_is_0 = True
            array = np.zeros((*array.shape[:-1], _INSTEAD_OF_0), array.dtype)
        if self.flat:
            array = array.reshape(-1, array.shape[-1])
        self._add(ARG["SRC"], tensor(array, data_type, len(self.dims), self.engine))

    def set_weights(self, array: NDArray[Any], data_type: DataType, packed_axis: int | None) -> Shape:
        """Add the weights. packed_axis: the axis (-1 or -2) along which a byte holds several
        values, None for other types. Returns the dims in elements."""
        if self.flat:
            array = array.reshape(array.shape[-2:])
        axis = -1 if packed_axis is None else packed_axis
        if self._k_is_0:
            rows = items_of(data_type, _INSTEAD_OF_0) if packed_axis == -2 else _INSTEAD_OF_0
            array = np.zeros((*array.shape[:-2], rows, array.shape[-1]), array.dtype)
        t = tensor(array, data_type, len(self.dims), self.engine, axis)
        self._add(ARG["WEIGHTS"], t)
        return (*t.dims[:-2], 0, t.dims[-1]) if self._k_is_0 else t.dims

    def set_packed_weights(self, packed: PackedWeights) -> None:
        """Add weights with their scales and zero points."""
        if len(packed.dims) != len(self.dims):
            raise InvalidArgumentsError(
                f"packed weights {packed.dims} do not fit dst {self.dims}, which has other dimensions"
            )
        packed._declare(self.attr)
        memories = packed._memories()
        self._mds[ARG["WEIGHTS"]] = packed.md
        self._memories.update(memories)
        self._k_groups += [operand.parameter.k_group for operand in packed._operands().values()]

    def set_bias(self, values: ArrayLike) -> None:
        self._add(ARG["BIAS"], self._like_dst(values, "bias"))

    def _like_dst(self, values: ArrayLike, name: str) -> Tensor:
        """A tensor of values that broadcast to dst. ValueError if they do not."""
        array = as_float32(check.array(values, name), name)
        try:
            fits = np.broadcast_shapes(array.shape, self.shape) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise InvalidArgumentsError(
                f"{name} of shape {array.shape} does not broadcast to dst {self.shape}"
            )
        data_type = type_of(array, name)
        if data_type in SUB_BYTE:
            raise InvalidArgumentsError(f"{name} has type {data_type}: convert it to a type of 8 bits")
        array = np.atleast_1d(array)
        last = array.shape[-1]
        if self.flat:
            if array.size != last:
                array = np.broadcast_to(array, (*self.shape[:-1], last))
            array = array.reshape(-1, last)
        return tensor(array, data_type, len(self.dims), self.engine)

    def set_parameter(self, of: str, kind: str, parameter: Parameter) -> None:
        """kind: as in the setter of Attr."""
        if of != "DST":
            if self._k_is_0:
                return
            self._k_groups.append(parameter.k_group)
        values, data_type = parameter.values, parameter.data_type
        arg = ARG[f"ATTR_{kind.upper()}"] | ARG[of]
        self._add(arg, tensor(values, data_type, values.ndim, self.engine))
        getattr(self.attr, f"set_{kind}")(ARG[of], parameter.mask, parameter.groups, data_type)

    def set_reductions(self, parameter: Parameter) -> None:
        """Add precomputed reductions, after scales and zero points. Sums that span several groups
        of one of these cannot be used, so they are left out."""
        if not self._k_is_0 and not any(group % parameter.k_group for group in self._k_groups):
            self.set_parameter("SRC", "precomputed_reductions", parameter)

    def set_post_ops(self, entries: Iterable[PostOp], out_dtype: DataType | None) -> None:
        """Add post-ops. out_dtype: dst's type if it has old values, else None."""
        wrong = (str, bytes, Mapping, Set, np.ndarray)
        if isinstance(entries, wrong) or not isinstance(entries, Iterable):
            raise InvalidArgumentsError(
                f"post_ops is {check.shown(entries)}, not a sequence of post-ops such as [('relu', 0.1)]"
            )
        out_md = None if out_dtype is None else MemoryDesc(self.dims, out_dtype, "any")
        post_ops = PostOps()
        for index, entry in enumerate(entries):
            try:
                operands = append_entry(post_ops, entry, out_md, self._like_dst, self.engine)
                for arg, operand in operands.items():
                    self._add(_post_op_arg(index, arg), operand)
            except InvalidArgumentsError as error:
                raise InvalidArgumentsError(f"post_ops[{index}]: {error}") from None
        self._are_dst = [_post_op_arg(index, "SRC_1") for index in post_ops._in_place()]
        self._reads_old_dst = post_ops._has_sum() or bool(self._are_dst)
        if len(post_ops):
            self.attr.set_post_ops(post_ops)

    def run(self, data_type: DataType, out: NDArray[Any] | None) -> NDArray[Any]:
        result = self._result(data_type, out)
        dst = tensor(result, data_type, len(self.dims), self.engine)
        md = dst.md()
        src, weights, bias = (self._mds.get(ARG[name]) for name in ("SRC", "WEIGHTS", "BIAS"))
        assert src is not None
        assert weights is not None
        pd = MatmulPrimitiveDesc(self.engine, src, weights, md, bias, self.attr)
        primitive = Primitive(pd)
        on_host = self.engine.kind == "cpu"
        memory = dst.memory(self.engine) if on_host or self._reads_old_dst else Memory(md, self.engine)
        stream = self.stream if self.stream is not None else stream_of(self.engine)
        primitive.execute(stream, self._memories | dict.fromkeys([ARG["DST"], *self._are_dst], memory))
        copies = not on_host or (out is not None and not np.may_share_memory(result, out))
        if self.stream is None or copies:
            stream.wait()
        if not on_host:
            np.copyto(result, memory.read().view(result.dtype).reshape(result.shape))
        if out is None:
            return result.reshape(self.shape)
        if not np.may_share_memory(result, out):
            np.copyto(out, result.reshape(self.shape))
        return out

    def _result(self, data_type: DataType, out: NDArray[Any] | None) -> NDArray[Any]:
        """The array that dst is computed in: `out` if the device can write it in place and it
        overlaps no input, else a dense array, with the values of `out` for post-ops that read them."""
        if out is None:
            return np.empty(self.dims, numpy_dtype(data_type))
        result = out.reshape(self.dims)
        usable = (
            self.engine.kind == "cpu" and in_place(result, self.engine) and np.may_share_memory(result, out)
        )
        if usable and not any(np.may_share_memory(result, array) for array in self._inputs):
            return result
        if self.stream is not None:
            self.stream._settle()
        return np.array(result, result.dtype.newbyteorder("="), order="C")


def _post_op_arg(index: int, tensor: str) -> int:
    return ARG["ATTR_MULTIPLE_POST_OP_BASE"] * (index + 1) | ARG[tensor]


def _dst_shape(src: Shape, weights: Shape) -> Shape:
    if src[-1] != weights[-2]:
        raise InvalidArgumentsError(f"src {src} has K = {src[-1]}, weights {weights} have K = {weights[-2]}")
    try:
        batch = np.broadcast_shapes(src[:-2], weights[:-2])
    except ValueError:
        raise InvalidArgumentsError(f"leading dimensions of src {src} and weights {weights} differ") from None
    return (*batch, src[-2], weights[-1])


def _dst_dtype(src: DataType, wanted: DType | None, out: NDArray[Any] | None, shape: Shape) -> DataType:
    if out is not None:
        if not isinstance(out, np.ndarray):
            raise InvalidArgumentsError(f"out is {check.shown(out)}, not an array of numpy")
        if out.shape != shape:
            raise InvalidArgumentsError(f"out has shape {out.shape}, dst is {shape}")
        if not out.flags.writeable:
            raise InvalidArgumentsError("out is read-only")
        if shares_places(out):
            raise InvalidArgumentsError(f"out has strides {out.strides}: some of its elements share memory")
        own = type_of(out, "out")
        if wanted is not None and dtype_name(wanted, "dst_dtype") != own:
            raise InvalidArgumentsError(f"out has type {own}, dst_dtype is {dtype_name(wanted)}")
        wanted = out.dtype
    name = (
        dtype_name(wanted, "dst_dtype")
        if wanted is not None
        else (src if src in ("f16", "bf16", "f64") else "f32")
    )
    if name in SUB_BYTE:
        raise InvalidArgumentsError(
            f"dst_dtype {name} has several elements to a byte: use Primitive and Memory"
        )
    return name
