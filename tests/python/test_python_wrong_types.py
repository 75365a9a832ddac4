# SPDX-License-Identifier: Apache-2.0
"""Values of any type in place of one argument of any public callable: only zemm's errors are raised,
and their sentence names the argument."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_python_errors import in_zemms_words
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS

MD = zemm.MemoryDesc((2, 4), "f32")
MDS = (MD, zemm.MemoryDesc((4, 2), "f32"), zemm.MemoryDesc((2, 2), "f32"))
SCALAR = zemm.MemoryDesc.host_scalar("f32")


class Objects:
    """One object of each class, made at the first use."""

    def __init__(self) -> None:
        self.engine = zemm.Engine("cpu")
        self.stream = zemm.Stream(self.engine)
        self.memories = [zemm.Memory(md, self.engine) for md in MDS]
        self.args = dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), self.memories, strict=True))
        self.pd = zemm.MatmulPrimitiveDesc(self.engine, *MDS)
        self.primitive = zemm.Primitive(self.pd)
        self.layer = zemm.Linear.from_float(W, group=4, engine=self.engine)

    def all(self) -> list[Any]:
        own = [self.engine, self.stream, self.memories[0], self.pd, self.primitive]
        return [*own, MD, SCALAR, zemm.Attr(), zemm.PostOps()]


Arguments = dict[str, Any]
X, W = np.ones((2, 4), np.float32), np.ones((4, 2), np.float32)
S8, U8 = np.ones((2, 4), np.int8), np.ones((4, 2), np.uint8)
SETTING: Arguments = {"arg": ARG_SRC, "mask": 3, "groups": (1, 2)}
LAYER: Arguments = {
    "bias": None,
    "activation": "f32",
    "activation_group": None,
    "dst_dtype": None,
    "transposed": False,
    "fpmath": None,
}
QUANTISING: Arguments = {"w": W, "bits": 8, "group": 4, "symmetric": False, "scale_dtype": "f32"}
WEIGHTS: Arguments = {"scales": np.ones((1, 2), np.float32), "zero_points": None, "weights_dtype": None}
# They get chosen values, as random names of files would be written to.
OF_FILES = {"Linear.load", "Linear.save", "load_layers", "save_layers", "warm"}
REFUSED = {"PostOps.append_dw"}  # whatever the arguments
SPARSE: Arguments = {"dims": (2, 4), "data_type": "f32", "nnz": 3}

# Each public callable with arguments that it takes.
CALLS: dict[str, Callable[[Objects], tuple[Callable[..., Any], Arguments]]] = {
    "ARG_ATTR_MULTIPLE_POST_OP": lambda _: (zemm.ARG_ATTR_MULTIPLE_POST_OP, {"index": 0}),
    "Attr.set_accumulation_mode": lambda _: (zemm.Attr().set_accumulation_mode, {"mode": "any"}),
    "Attr.set_saturation": lambda _: (zemm.Attr().set_saturation, {"value": True}),
    "Attr.set_deterministic": lambda _: (zemm.Attr().set_deterministic, {"value": True}),
    "Attr.set_dropout": lambda _: (
        zemm.Attr().set_dropout,
        {"mask_md": None, "seed_dt": "s32", "use_offset": False, "use_host_scalars": False},
    ),
    "Attr.set_fpmath_mode": lambda _: (zemm.Attr().set_fpmath_mode, {"mode": "any", "apply_to_int": True}),
    "Attr.set_offsets": lambda _: (
        zemm.Attr().set_offsets,
        {**SETTING, "arg": ARG_WEIGHTS, "data_type": "f32"},
    ),
    "Attr.set_post_ops": lambda _: (zemm.Attr().set_post_ops, {"post_ops": zemm.PostOps()}),
    "Attr.set_precomputed_reductions": lambda _: (
        zemm.Attr().set_precomputed_reductions,
        {**SETTING, "data_type": "s32"},
    ),
    "Attr.set_reduced_range": lambda _: (zemm.Attr().set_reduced_range, {"arg": ARG_SRC, "value": True}),
    "Attr.set_rounding": lambda _: (zemm.Attr().set_rounding, {"arg": ARG_DST, "mode": "stochastic"}),
    "Attr.set_scales": lambda _: (
        zemm.Attr().set_scales,
        {**SETTING, "data_type": "f32", "is_on_host": False, "quantization_mode": "static_sazp"},
    ),
    "Attr.set_scratchpad_mode": lambda _: (zemm.Attr().set_scratchpad_mode, {"mode": "user"}),
    "Attr.set_src_dyn_quant_params": lambda _: (zemm.Attr().set_src_dyn_quant_params, {"group_size": 32}),
    "Attr.set_zero_points": lambda _: (
        zemm.Attr().set_zero_points,
        {**SETTING, "data_type": "s32", "is_on_host": False},
    ),
    "Engine": lambda _: (zemm.Engine, {"kind": "cpu", "index": 0}),
    "Engine.count": lambda _: (zemm.Engine.count, {"kind": "cpu"}),
    "Engine.measure_peak": lambda h: (h.engine.measure_peak, {"what": None}),  # a right one takes long
    "MatmulPrimitiveDesc": lambda h: (
        zemm.MatmulPrimitiveDesc,
        {"engine": h.engine, "src": MD, "weights": MDS[1], "dst": MDS[2], "bias": None, "attr": None},
    ),
    "Linear.from_float": lambda o: (
        zemm.Linear.from_float,
        {**LAYER, **QUANTISING, "engine": o.engine},
    ),
    "Linear.from_quantized": lambda o: (
        zemm.Linear.from_quantized,
        {"offsets": None, "values": U8, "group": None, "engine": o.engine, **WEIGHTS, **LAYER},
    ),
    "Linear.from_state_dict": lambda o: (
        zemm.Linear.from_state_dict,
        {"state": o.layer.state_dict(), "prefix": "", "engine": o.engine},
    ),
    "Linear.state_dict": lambda o: (o.layer.state_dict, {"prefix": ""}),
    "Memory": lambda h: (zemm.Memory, {"md": MD, "engine": h.engine, "buffer": X.copy()}),
    "Memory.from_handle": lambda h: (
        zemm.Memory.from_handle,
        {"md": MD, "engine": h.engine, "address": 0, "keep": None},
    ),
    "Memory.host_scalar": lambda _: (zemm.Memory.host_scalar, {"md": SCALAR, "value": 1.0}),
    "Memory.read": lambda h: (h.memories[0].read, {"index": 0}),
    "Memory.write": lambda h: (h.memories[0].write, {"array": X, "index": 0}),
    "MemoryDesc": lambda _: (
        zemm.MemoryDesc,
        {"dims": (2, 4), "data_type": "f32", "tag": None, "strides": (4, 1)},
    ),
    "MemoryDesc.coo": lambda _: (zemm.MemoryDesc.coo, {**SPARSE, "indices_dt": "s32"}),
    "MemoryDesc.csr": lambda _: (
        zemm.MemoryDesc.csr,
        {**SPARSE, "indices_dt": "s32", "pointers_dt": "s32"},
    ),
    "MemoryDesc.from_blob": lambda _: (zemm.MemoryDesc.from_blob, {"blob": MD.blob}),
    "MemoryDesc.grouped": lambda _: (
        zemm.MemoryDesc.grouped,
        {"dims": (4, 4), "data_type": "f32", "variable_dim": 0, "group_count": 2, "offsets_dt": "s32"},
    ),
    "MemoryDesc.host_scalar": lambda _: (zemm.MemoryDesc.host_scalar, {"data_type": "f32"}),
    "MemoryDesc.packed": lambda _: (zemm.MemoryDesc.packed, SPARSE),
    "MemoryDesc.part_data_type": lambda _: (MD.part_data_type, {"index": 0}),
    "MemoryDesc.part_size": lambda _: (MD.part_size, {"index": 0}),
    "MemoryDesc.permute_axes": lambda _: (MD.permute_axes, {"permutation": (1, 0)}),
    "MemoryDesc.reshape": lambda _: (MD.reshape, {"dims": (8,)}),
    "MemoryDesc.submemory": lambda _: (MD.submemory, {"dims": (1, 1), "offsets": (0, 0)}),
    "PostOps.append_binary": lambda _: (
        zemm.PostOps().append_binary,
        {"alg": "select", "src1_md": MDS[2], "src2_md": zemm.MemoryDesc((2, 2), "s8")},
    ),
    "PostOps.append_eltwise": lambda _: (
        zemm.PostOps().append_eltwise,
        {"alg": "linear", "alpha": 1.0, "beta": 0.0},
    ),
    "PostOps.append_prelu": lambda _: (zemm.PostOps().append_prelu, {"mask": 2}),
    "PostOps.append_sum": lambda _: (
        zemm.PostOps().append_sum,
        {"scale": 1.0, "zero_point": 0, "data_type": "f32"},
    ),
    "Primitive": lambda h: (zemm.Primitive, {"pd": h.pd}),
    "Primitive.bind": lambda h: (h.primitive.bind, {"stream": h.stream, "args": h.args}),
    "Primitive.execute": lambda h: (h.primitive.execute, {"stream": h.stream, "args": h.args}),
    "PrimitiveDesc.query_md": lambda h: (h.pd.query_md, {"what": "src_md", "index": 0}),
    "PrimitiveDesc.query_s64": lambda h: (h.pd.query_s64, {"what": "memory_consumption_s64", "index": 0}),
    "ReorderPrimitiveDesc": lambda h: (
        zemm.ReorderPrimitiveDesc,
        {"src_engine": h.engine, "src": MD, "dst": MD, "attr": None, "dst_engine": None},
    ),
    "InnerProductPrimitiveDesc": lambda h: (
        zemm.InnerProductPrimitiveDesc,
        {
            "engine": h.engine,
            "src": MD,
            "weights": zemm.MemoryDesc((3, MD.dims[1]), "f32"),
            "dst": zemm.MemoryDesc((MD.dims[0], 3), "f32"),
            "bias": None,
            "attr": None,
            "prop_kind": "forward_inference",
        },
    ),
    "DynamicQuantizePrimitiveDesc": lambda h: (
        zemm.DynamicQuantizePrimitiveDesc,
        {
            "engine": h.engine,
            "src": MD,
            "dst": zemm.MemoryDesc(MD.dims, "s8"),
            "scale": zemm.MemoryDesc((*MD.dims[:-1], 1), "f32"),
            "zero_point": None,
            "reductions": None,
            "attr": None,
        },
    ),
    "Stream": lambda h: (zemm.Stream, {"engine": h.engine, "profiling": True}),
    "dtype_name": lambda _: (zemm.dtype_name, {"dtype": "f32"}),
    "from_dlpack": lambda h: (zemm.from_dlpack, {"x": X, "engine": h.engine}),
    "matmul": lambda h: (
        zemm.matmul,
        {
            "src": S8, "weights": U8, "bias": 1.0, "dst_dtype": "f32", "weights_dtype": "u8",
            "src_scales": 1.0, "src_zero_points": 1, "weights_scales": 1.0, "weights_zero_points": 1,
            "weights_offsets": None, "src_group": None, "weights_group": None,
            "dst_scales": 1.0, "dst_zero_points": 1, "reductions": [[4], [4]], "post_ops": ["relu"],
            "reduced_range": False, "saturation": False, "fpmath": "any", "engine": h.engine, "out": None,
            "stream": h.stream,
        },
    ),
    "numpy_dtype": lambda _: (zemm.numpy_dtype, {"dtype": "f32"}),
    "pack": lambda h: (
        zemm.pack,
        {
            "weights": U8,
            "offsets": None,
            "group": None,
            "src_dtype": "f32",
            "src_group": None,
            "transposed": False,
            "fpmath": None,
            "engine": h.engine,
            **WEIGHTS,
        },
    ),
    "PackedInt2": lambda _: (zemm.PackedInt2, {"packed": U8, "data_type": "u2"}),
    "PackedInt4": lambda _: (zemm.PackedInt4, {"packed": U8, "data_type": "s4"}),
    "pack_int2": lambda _: (zemm.pack_int2, {"values": [1, 2]}),
    "pack_int4": lambda _: (zemm.pack_int4, {"values": [1, 2]}),
    "quantize_activations": lambda h: (
        zemm.quantize_activations,
        {"x": X, "group": 2, "scale_dtype": "f32", "dtype": "u8", "reduced_range": True, "engine": h.engine,
         "stream": None},
    ),
    "quantize_floats": lambda h: (
        zemm.quantize_floats,
        {"x": np.ones((2, 32), np.float32), "dtype": "f8_e4m3", "scaling": "mx", "engine": h.engine,
         "stream": None},
    ),
    "quantize_weights": lambda _: (
        zemm.quantize_weights,
        {"w": W, "bits": 8, "group": 2, "scale_dtype": "f32", "symmetric": False},
    ),
    "reorder": lambda h: (zemm.reorder, {"src": h.memories[0], "md": MD, "stream": h.stream}),
    "set_num_threads": lambda _: (zemm.set_num_threads, {"num_threads": 0}),
    "set_primitive_cache_capacity": lambda _: (zemm.set_primitive_cache_capacity, {"capacity": 1024}),
    "set_verbose": lambda _: (zemm.set_verbose, {"level": 0}),
    "unpack_int2": lambda _: (zemm.unpack_int2, {"packed": b"ab", "count": 3}),
    "unpack_int4": lambda _: (zemm.unpack_int4, {"packed": b"ab", "count": 3, "signed": True}),
}  # fmt: skip

DTYPES = [
    "f4",
    "f8",
    "i1",
    "i8",
    "u2",
    "?",
    "c8",
    "U2",
    "S2",
    "O",
    "M8[s]",
    ml_dtypes.bfloat16,
    ml_dtypes.int4,
]
arrays = st.builds(
    lambda dtype, shape: np.zeros(shape, dtype),
    st.sampled_from(DTYPES),
    st.sampled_from([(), (1,), (3,), (2, 3), (0,), (1, 1, 1)]),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.just(10**5000),
    st.floats(),
    st.complex_numbers(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.sampled_from(
        [object(), object, int, np.float32, len, iter((1, 2)), Ellipsis, NotImplemented, range(3)]
    ),
    st.sampled_from(
        [np.int64(3), np.float32("nan"), np.dtype("i2"), np.str_("f32"), memoryview(b"abcd")[::2]]
    ),
    arrays,
)
values = st.one_of(
    plain,
    st.lists(plain, max_size=3),
    st.tuples(plain, plain),
    st.dictionaries(st.one_of(st.integers(), st.text(max_size=3)), plain, max_size=2),
    st.sets(st.integers(), max_size=2),
)


def public_callables() -> dict[str, Callable[..., Any]]:
    """Functions and methods of zemm with parameters, by name. Inherited methods are those of the base
    class."""
    found: dict[str, Callable[..., Any]] = {}
    for name in zemm.__all__:
        value = getattr(zemm, name)
        if inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value) and not issubclass(value, (Exception, tuple)):
            found[name] = value
            inherited = dir(np.ndarray) if issubclass(value, np.ndarray) else ()
            for part, method in inspect.getmembers(value, inspect.isroutine):
                if not part.startswith("_") and part not in inherited:
                    found[method.__qualname__] = method
    return {
        name: call
        for name, call in found.items()
        if [p for p in inspect.signature(call).parameters if p != "self"]
    }


def test_every_callable_is_tried() -> None:
    found = public_callables()
    assert set(CALLS) == set(found) - OF_FILES - REFUSED
    objects = Objects()
    for name, make in CALLS.items():
        parameters = {p for p in inspect.signature(found[name]).parameters if p not in ("self", "what")}
        given_ = set(make(objects)[1]) - {"what"}
        assert given_ == parameters, name


@pytest.fixture(scope="session")
def objects() -> Objects:
    return Objects()


def test_right_arguments_are_taken(objects: Objects) -> None:
    for name, make in CALLS.items():
        call, arguments = make(objects)
        if name != "Engine.measure_peak":
            call(**arguments)


# What the library calls some arguments where their type is right and their value is not.
ALSO = {
    "is_on_host": "on the host",
    "args": "ARG_",
    "nnz": "elements",
    "transposed": "does not fit",
    "values": "weights",
    "data_type": "may be floats",
    "md": "dst",
    "dims": "strides",
    "offsets": "at offset",
}


def is_named(argument: str, value: Any, sentence: str) -> bool:
    """The sentence has the argument's name or a descriptor's repr; for dst_dtype and the like
    perhaps only "dst"."""
    owner = argument.split("_")[0]
    words = [argument, argument.replace("_", " "), ALSO.get(argument, argument)]
    words += [owner] if owner in ("src", "weights", "dst") else []
    words += [repr(value)] if isinstance(value, zemm.MemoryDesc) else []
    return any(word in sentence for word in words)


@pytest.mark.parametrize("name", CALLS)
# The same examples in each run. Without derandomize and with more of them it finds more.
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_wrong_types(objects: Objects, name: str, data: st.DataObject) -> None:
    call, arguments = CALLS[name](objects)
    argument = data.draw(st.sampled_from(sorted(arguments)))
    value = data.draw(st.one_of(values, st.sampled_from(objects.all())))
    said = None
    try:
        call(**{**arguments, argument: value})
    except zemm.ZemmError as error:
        said = str(error)
    finally:
        objects.stream.wait()
        zemm.set_verbose(0)
        zemm.set_primitive_cache_capacity(1024)
    if said is not None:
        assert is_named(argument, value, said), f"{argument}: {said}"
        assert in_zemms_words(said), said


WRONG: list[Any] = [None, 3, 1.5, b"x", "", "x\0y", [1], {1: 2}, object(), np.zeros(2), zemm.Attr()]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_types_for_files(objects: Objects, tmp_path: Path, value: Any) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("gguf")
    lines, layers = ["--dt=f32 2x4:4x2"], {"a": objects.layer}
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("path", lambda: objects.layer.save(value)),
        ("path", lambda: zemm.Linear.load(value)),
        ("path", lambda: zemm.load_layers(value)),
        ("path", lambda: zemm.save_layers(value, layers)),
        ("path", lambda: zemm.gguf.load(value)),
        ("layers", lambda: zemm.save_layers(tmp_path / "x", value)),
        ("layers", lambda: zemm.save_layers(tmp_path / "x", {"a": value})),
        ("cases", lambda: zemm.warm(value, objects.engine)),
    ]
    if value is not None:
        calls += [
            ("engine", lambda: zemm.warm(lines, value)),
            ("echo", lambda: zemm.warm(lines, objects.engine, echo=value)),
        ]
        if not isinstance(value, int):
            calls.append(("processes", lambda: zemm.warm(lines, objects.engine, processes=value)))
    for name, call in calls:
        with pytest.raises(zemm.InvalidArgumentsError) as caught:
            call()
        assert name in str(caught.value)
    assert not list(tmp_path.iterdir())
