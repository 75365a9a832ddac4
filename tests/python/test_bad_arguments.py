# SPDX-License-Identifier: Apache-2.0
"""Each argument of each public callable in turn gets a value of each kind: only zemm's errors are raised,
their sentence names the argument, and for a value of no type at all it says what would be right."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import ml_dtypes
import numpy as np
import pytest
import zemm
from test_bad_values import in_zemms_words
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS, Attr, MemoryDesc, PostOps

MD, SCALAR = MemoryDesc((2, 4), "f32"), MemoryDesc.host_scalar("f32")
MDS = (MD, MemoryDesc((4, 2), "f32"), MemoryDesc((2, 2), "f32"))
X, W = np.ones((2, 4), np.float32), np.ones((4, 2), np.float32)
U8 = np.ones((4, 2), np.uint8)


class Objects:
    """One object of each class, and right arguments: by parameter, and by callable where they differ."""

    def __init__(self) -> None:
        self.engine = engine = zemm.Engine("cpu")
        self.stream = zemm.Stream(engine)
        memories = [zemm.Memory(md, engine) for md in MDS]
        self.pd = pd = zemm.MatmulPrimitiveDesc(engine, *MDS)
        self.layer = layer = zemm.Linear.from_float(W, group=4, engine=engine)
        self.own = [engine, self.stream, memories[0], pd, zemm.Primitive(pd), MD, SCALAR]
        self.owners = dict(zip(("Engine", "Stream", "Memory", "PrimitiveDesc", "Primitive", "MemoryDesc"),
                               self.own, strict=False)) | {"Linear": layer}  # fmt: skip
        self.right: dict[str, Any] = {
            "address": 0, "arg": ARG_SRC, "array": X, "bits": 8, "blob": MD.blob, "capacity": 1024,
            "args": dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), memories, strict=True)),
            "cases": ["--dt=f32 2x4:4x2"], "count": 3, "data_type": "f32", "dims": (2, 4), "dst": MD,
            "dtype": "f32", "engine": engine, "group_count": 2, "group_size": 32, "groups": (1, 2),
            "index": 0, "layers": {"a": layer}, "level": 0, "mask": 3, "md": MD, "nnz": 3, "num_threads": 0,
            "offsets": (0, 0), "packed": b"ab", "path": "layers.safetensors", "pd": pd, "permutation": (1, 0),
            "post_ops": PostOps(), "signed": True, "src": MD, "src1_md": MDS[2], "src_engine": engine,
            "state": layer.state_dict(), "stream": self.stream, "value": True, "values": [1, 2],
            "variable_dim": 0, "w": W, "x": X,
        }  # fmt: skip
        codes = {"packed": U8}
        parameters = {"scales": np.ones((1, 2), np.float32), "offsets": None}
        self.special: dict[str, dict[str, Any]] = {
            "Attr.set_offsets": {"arg": ARG_WEIGHTS},
            "Attr.set_scale_factors": {"arg": ARG_WEIGHTS},
            "Attr.set_offset_factors": {"arg": ARG_WEIGHTS},
            "Attr.set_rounding": {"arg": ARG_DST, "mode": "stochastic"},
            "DynamicQuantizePrimitiveDesc": {
                "dst": MemoryDesc((2, 4), "s8"), "scale": MemoryDesc((2, 1), "f32"), "stream": None,
            },
            "InnerProductPrimitiveDesc": {
                "weights": MemoryDesc((3, 4), "f32"), "dst": MemoryDesc((2, 3), "f32"),
            },
            "Linear.from_float": {"group": 4, "activation": "int8"},
            "Linear.from_quantized": {"values": U8, "activation": "int8", **parameters},
            "MatmulPrimitiveDesc": {"weights": MDS[1], "dst": MDS[2]},
            "Memory": {"buffer": X.copy()},
            "Memory.host_scalar": {"md": SCALAR, "value": 1.0},
            "MemoryDesc.grouped": {"dims": (4, 4)},
            "MemoryDesc.reshape": {"dims": (8,)},
            "MemoryDesc.submemory": {"dims": (1, 1)},
            "PackedInt2": codes | {"data_type": "u2"},
            "PackedInt3": codes | {"data_type": "u3"},
            "PackedInt4": codes | {"data_type": "s4"},
            "PostOps.append_binary": {"alg": "select", "src2_md": MemoryDesc((2, 2), "s8")},
            "PostOps.append_eltwise": {"alg": "linear", "alpha": 1.0, "beta": 0.0},
            "PostOps.append_sum": {"data_type": "f32"},
            "from_dlpack": {"x": X.copy()},
            "matmul": {
                "src": X.astype(np.int8), "weights": U8, "bias": 1.0, "dst_dtype": "f32",
                "weights_dtype": "u8",
                "src_scales": 1.0, "src_zero_points": 1, "weights_scales": 1.0, "weights_zero_points": 1,
                "dst_scales": 1.0, "dst_zero_points": 1, "reductions": [[4], [4]], "post_ops": ["relu"],
                "fpmath": "any", "stream": None,
            },
            "pack": {"weights": U8, **parameters},
            "quantize_activations": {"group": 2, "dtype": "u8", "stream": None},
            "quantize_floats": {"x": np.ones((2, 32), np.float32), "dtype": "f8_e4m3", "stream": None},
            "reorder": {"src": memories[0]},
        }  # fmt: skip

    def call(self, name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
        """A callable and arguments that it takes: those without a default, engines and what is special."""
        owner, _, method = name.rpartition(".")
        made = {"Attr": Attr, "PostOps": PostOps}.get(owner, lambda: self.owners.get(owner))()
        function = CALLABLES[name]
        call = getattr(made, method) if made is not None and not is_bound(function) else function
        special = {"engine": self.engine, **self.special.get(name, {})}
        return call, {p: self.value(special, parameter) for p, parameter in parameters_of(function).items()}

    def value(self, special: dict[str, Any], parameter: inspect.Parameter) -> Any:
        if parameter.name in special:
            return special[parameter.name]
        if parameter.default is not parameter.empty:
            return parameter.default
        words = words_of(parameter.annotation)
        return words[0] if words else self.right[parameter.name]


def is_bound(function: Any) -> bool:
    """Whether it needs no object: a class, a function of a module, or a method of a class."""
    return inspect.isclass(function) or inspect.ismethod(function) or "." not in function.__qualname__


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {name: p for name, p in inspect.signature(function).parameters.items() if name != "self"}


def words_of(annotation: Any) -> tuple[str, ...]:
    """The words of a Literal, also of an optional one."""
    options = [a for a in get_args(annotation) if a is not type(None)]
    if len(options) == 1 and get_origin(annotation) is not Literal:
        return words_of(options[0])
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def public_callables() -> dict[str, Callable[..., Any]]:
    """Functions and methods of zemm with parameters, by name. Inherited methods are those of the base
    class."""
    found: dict[str, Callable[..., Any]] = {"load": zemm.gguf.load}
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
    del found["PostOps.append_dw"]  # refuses whatever the arguments
    del found["warm_up"]  # takes a module of torch
    return {name: call for name, call in found.items() if parameters_of(call)}


CALLABLES = public_callables()
OF_FILES = {"load", "load_layers", "save_layers", "Linear.load", "Linear.save", "warm"}


@pytest.fixture(scope="session")
def objects() -> Objects:
    return Objects()


# A measurement, and calls that write or run what they are given, need right arguments that exist.
@pytest.mark.parametrize("name", sorted(set(CALLABLES) - OF_FILES - {"Engine.measure_peak"}))
def test_right_arguments_are_taken(objects: Objects, name: str) -> None:
    call, arguments = objects.call(name)
    call(**arguments)


TYPED = [
    (name, argument)
    for name, call in CALLABLES.items()
    for argument, parameter in parameters_of(call).items()
    if "TorchDType" in str(parameter.annotation) and argument != "post_ops"
]
TYPED.remove(("PackedInt3", "data_type"))  # numpy has no type of 3 bits


@pytest.mark.parametrize(("name", "argument"), TYPED)
def test_types_are_taken_in_any_spelling(objects: Objects, name: str, argument: str) -> None:
    call, arguments = objects.call(name)
    right = arguments[argument]
    if right in (None, "undef"):
        right = "u8" if "weights" in argument else "f32"
    dtype = zemm.numpy_dtype(right)
    for spelling in (right, dtype, dtype.name, dtype.type):
        call, arguments = objects.call(name)
        call(**{**arguments, argument: spelling})


NOTHING = type("Nothing", (), {})()
ARRAYS = {
    f"{np.dtype(dtype).name} {shape}": np.zeros(shape, dtype)
    for dtype, shape in [
        ("f4", (3,)), ("f8", ()), ("f8", (2, 3)), ("i1", (0,)), ("i8", (1,)), ("i8", (2, 3)),
        ("u2", (1, 1, 1)), ("?", (2, 3)), ("c8", (3,)), ("U2", ()), ("S2", (3,)), ("O", (2, 3)),
        ("M8[s]", (1,)), (ml_dtypes.bfloat16, (2, 3)), (ml_dtypes.int4, (3,)),
    ]
}  # fmt: skip
SCALARS = [
    None, True, -1, 3, 2**31, 2**70, -(2**70), 10**5000, 1.5, -0.0, float("nan"), float("inf"), 1j, "", "f32",
    "x\0y", "é", b"", b"x", object, int, np.float32, len, ..., NotImplemented, np.int64(3), np.float32("nan"),
    np.dtype("i2"), np.str_("f32"), memoryview(b"abcd")[::2],
]  # fmt: skip
NESTED = [[], [None], [1], [2**70], [1.5], ["x"], [b"x"], [NOTHING], [[1], [1, 2]], (1, 2), ("relu", None),
          {}, {1: 2}, {"x": None}, {1, 2}, range(3)]  # fmt: skip


def values(objects: Objects) -> list[Any]:
    return [NOTHING, *SCALARS, *NESTED, iter((1, 2)), *ARRAYS.values(), *objects.own, Attr(), PostOps()]


# What the library calls some arguments where their type is right and their value is not.
ALSO = {
    "is_on_host": "on the host", "args": "ARG_", "nnz": "elements", "transposed": "does not fit",
    "values": "weights", "data_type": "may be floats", "md": "dst", "dims": "strides", "offsets": "at offset",
    "zero_point": "asymmetric", "address": "handles", "activation_group": "groups", "bits": "-bit values",
}  # fmt: skip


def is_named(argument: str, value: Any, sentence: str) -> bool:
    """The sentence has the argument's name or a descriptor's repr; for dst_dtype and the like
    perhaps only "dst"."""
    owner = argument.split("_")[0]
    words = [argument, argument.replace("_", " "), ALSO.get(argument, argument)]
    words += [owner] if owner in ("src", "weights", "dst") else []
    words += [repr(value)] if isinstance(value, MemoryDesc) else []
    return any(word in sentence for word in words)


# The end of a type's annotation, and what the sentence then says of a value of no type.
RIGHT = {
    "bool'>": "neither True nor False", "bytes'>": "bytes", "float'>": "number", "int'>": "integer|none of",
    "Sequence[int]": "integer", "str'>": "string", "PathLike[str]": "path",
    "engine.Engine": r"zemm\.Engine\('cpu'\)",
    "engine.Stream": "Stream|stream is for a Memory", "memory.Memory": r"zemm\.Memory\(",
    "MemoryDesc": r"zemm\.MemoryDesc\(dims, data_type\)", "Attr": r"zemm\.Attr\(\)",
    "PostOps": r"zemm\.PostOps\(\)", "Memory | None]": r"zemm\.ARG_SRC",
}  # fmt: skip


def is_helpful(annotation: Any, sentence: str) -> bool:
    """The sentence has a literal's words, and an object's constructor."""
    text = str(annotation).removesuffix(" | None").removesuffix("'>")
    right = next((words for end, words in RIGHT.items() if text.endswith(end.removesuffix("'>"))), "")
    names = (re.sub("^(eltwise|binary)_", "", word) for word in words_of(annotation))
    return bool(re.search(right, sentence)) and all(name in sentence for name in names)


ARGUMENTS = [(name, argument) for name, call in CALLABLES.items() for argument in parameters_of(call)]
ARGUMENTS.remove(("dtype_name", "what"))  # what its sentence calls the argument


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_any_value(
    objects: Objects, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if name in OF_FILES:
        pytest.importorskip("safetensors")
        pytest.importorskip("gguf")
        objects.layer.save("layers.safetensors")
    annotation = parameters_of(CALLABLES[name])[argument].annotation
    for value in values(objects):
        if argument == "echo" and callable(value):
            continue
        call, arguments = objects.call(name)
        try:
            call(**{**arguments, argument: value})
        except zemm.ZemmError as error:
            said = str(error)
            assert is_named(argument, value, said), f"{value!r}: {said}"
            assert in_zemms_words(said), said
            assert value is not NOTHING or is_helpful(annotation, said), said
        except FileNotFoundError:
            assert value in ("f32", "é")
        except Exception as error:
            raise AssertionError(f"{argument}={value!r}") from error
        else:
            assert value is not NOTHING or argument == "keep", "taken"
        finally:
            objects.stream.wait()
            zemm.set_verbose(0)
            zemm.set_primitive_cache_capacity(1024)
