# SPDX-License-Identifier: Apache-2.0
"""A saved form of a layer is the layer: copies, pickles, states and files give the same bits,
whatever the caller does to the arrays that the layer was made of, or are refused."""

import copy
import json
import os
import pickle
import re
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
import zemm
from hypothesis import strategies as st
from support_tiers import random_cases

K, N, GROUP, E = 64, 6, 16, 2
BF16 = ml_dtypes.bfloat16
FLOATS = (np.float32, np.float16, BF16)
TYPES: tuple[Any, ...] = (*FLOATS, np.float64, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64)


class Form(NamedTuple):
    """The arrays of a layer. None: it has no such array. foreign: arrays in the other byte order."""

    values: Any = np.uint8
    scales: Any = np.float32
    zero_points: Any = np.uint8
    offsets: Any = None
    factors: Any = None  # of scales, and of offsets if there are some; both are integers then
    bias: Any = np.float32
    shape: str = "groups"  # of scales and zero points
    experts: bool = False
    activation: str = "f32"
    foreign: bool = False


def parameters_of(form: Form, dtype: Any, rng: np.random.Generator) -> np.ndarray:
    leading = (E,) if form.experts else ()
    shape = {"one": (), "columns": (N,), "groups": (*leading, K // GROUP, N)}[form.shape]
    return np.asarray(rng.integers(1, 9, shape), np.float32).astype(dtype)


def arrays_of(form: Form) -> dict[str, Any]:
    """The arguments of Linear.from_quantized()."""
    rng = np.random.default_rng(7)
    leading = (E,) if form.experts else ()
    made: dict[str, Any] = {}
    if isinstance(form.values, str):
        columns = N - 1 if form.values == "odd" else N
        codes = rng.integers(0, 16, (*leading, columns, K)).astype(np.uint8)
        made["values"], made["weights_dtype"], made["transposed"] = zemm.pack_int4(codes), "u4", True
    else:
        made["values"] = rng.integers(-7, 7, (*leading, K, N)).astype(form.values)
        columns = N
    parameters = {"scales": form.scales, "zero_points": form.zero_points, "offsets": form.offsets}
    if form.factors is not None:
        parameters |= {"scales": np.uint8, "scale_factors": form.factors}
        if form.offsets is not None:
            parameters |= {"offsets": np.int8, "offset_factors": form.factors}
    for name, dtype in parameters.items():
        if dtype is not None:
            values = parameters_of(form, dtype, rng)
            values = values[..., ::2, :] if name.endswith("factors") else values
            values = values[..., :columns] if values.ndim else values
            made[name] = values.swapaxes(-1, -2) if made.get("transposed") and values.ndim > 1 else values
    if form.bias is not None:
        made["bias"] = rng.integers(-9, 9, (*leading, columns)).astype(form.bias)
    if form.foreign:
        made = {k: to_foreign(v) if isinstance(v, np.ndarray) else v for k, v in made.items()}
    return made


def to_foreign(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "V":  # numpy swaps no bytes of types of ml_dtypes
        return array
    return array.astype(array.dtype.newbyteorder())


def make(form: Form, engine: zemm.Engine) -> tuple[zemm.Linear, dict[str, Any]]:
    arrays = arrays_of(form)
    return zemm.Linear.from_quantized(**arrays, activation=form.activation, engine=engine), arrays


def overwrite(arrays: dict[str, Any]) -> None:
    """A caller that reuses its buffers."""
    for array in arrays.values():
        if isinstance(array, np.ndarray):
            array[...] = 3


def input_of(layer: Any) -> np.ndarray:
    shape = (layer.experts, 3, K) if layer.experts else (3, K)
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def by_file(layer: zemm.Linear, folder: Path) -> zemm.Linear:
    layer.save(folder / "one", "p.")
    return zemm.Linear.load(folder / "one", "p.", engine=layer.engine)


def by_files(layer: zemm.Linear, folder: Path) -> zemm.Linear:
    zemm.save_layers(folder / "all", {"a.b": layer, "c": layer})
    return zemm.load_layers(folder / "all", engine=layer.engine)["a.b"]


WAYS: dict[str, Callable[[zemm.Linear, Path], zemm.Linear]] = {
    "deepcopy": lambda layer, _: copy.deepcopy(layer),
    "pickle": lambda layer, _: pickle.loads(pickle.dumps(layer)),
    "state_dict": lambda layer, _: zemm.Linear.from_state_dict(layer.state_dict("x."), "x."),
    "file": by_file,
    "files": by_files,
}

float_weights = st.builds(
    Form,
    values=st.sampled_from((*FLOATS, ml_dtypes.float8_e4m3fn)),
    scales=st.none(),
    zero_points=st.none(),
    offsets=st.none(),
    factors=st.none(),
    bias=st.sampled_from((None, *FLOATS)),
    shape=st.just("one"),
    experts=st.booleans(),
    activation=st.sampled_from(("f32", "bf16")),
    foreign=st.booleans(),
)
quantised = st.builds(
    Form,
    values=st.sampled_from((np.uint8, np.int8, "even", "odd")),
    scales=st.sampled_from((*FLOATS, ml_dtypes.float8_e8m0fnu)),
    zero_points=st.sampled_from((None, np.uint8, np.int8, np.int32, *FLOATS)),
    offsets=st.sampled_from((None, None, *FLOATS)),
    bias=st.sampled_from((None, *FLOATS)),
    factors=st.sampled_from((None, None, *FLOATS)),
    shape=st.sampled_from(("one", "columns", "groups", "groups")),
    experts=st.booleans(),
    activation=st.sampled_from(("f32", "bf16", "int8")),
    foreign=st.booleans(),
).map(lambda form: possible(form))


def possible(form: Form) -> Form:
    """Offsets are in the place of zero points, and factors for several groups."""
    form = form._replace(zero_points=None) if form.offsets else form
    return form._replace(shape="groups") if form.factors else form


@random_cases(quick=4, full=25)
def test_saved_forms(engine: zemm.Engine, data: st.DataObject) -> None:
    pytest.importorskip("safetensors")
    form = data.draw(st.one_of(quantised, float_weights))
    with TemporaryDirectory() as folder:
        check_saved_forms(engine, form, Path(folder))


def check_saved_forms(engine: zemm.Engine, form: Form, folder: Path) -> None:
    native, _ = make(form._replace(foreign=False), engine)
    layer, arrays = make(form, engine)
    x = input_of(layer)
    expected = native(x)
    overwrite(arrays)
    assert np.array_equal(layer(x), expected)
    state = layer.state_dict()
    assert all(array.dtype.isnative for array in state.values())
    for way, made in ((way, of(layer, folder)) for way, of in WAYS.items()):
        assert repr(made) == repr(layer), way
        assert np.array_equal(made(x), expected), way
    # The caller may also change what state_dict() has returned.
    overwrite(state)
    assert np.array_equal(layer(x), expected)
    again = layer.state_dict()
    assert all(np.array_equal(again[name], array) for name, array in native.state_dict().items())


@pytest.mark.parametrize("name", ["scales", "zero_points", "offsets", "bias"])
def test_what_a_layer_shows_is_read_only(engine: zemm.Engine, name: str) -> None:
    form = Form(zero_points=None, offsets=np.float32) if name == "offsets" else Form()
    layer, _ = make(form, engine)
    operand = getattr(layer.weights, name, None)
    values = layer.bias if operand is None else operand.parameter.values
    with pytest.raises(ValueError, match="read-only"):
        values[...] = 0


@random_cases(quick=8, full=40)
def test_other_types_in_a_state(engine: zemm.Engine, data: st.DataObject) -> None:
    """The same numbers in another type or byte order are the same layer. Numbers that the layer's type
    cannot hold are refused. No bytes are taken for those of another type."""
    form = data.draw(quantised)
    name = data.draw(st.sampled_from(("values", "scales", "zero_points", "offsets", "scale_factors", "bias")))
    layer, _ = make(form._replace(foreign=False), engine)
    state = layer.state_dict()
    if name not in state:
        return
    kept, dtype = state[name], np.dtype(data.draw(st.sampled_from(TYPES)))
    views = data.draw(st.booleans()) and dtype.itemsize == kept.dtype.itemsize
    with np.errstate(all="ignore"):
        given = kept.view(dtype) if views else kept.astype(dtype)
    state[name] = to_foreign(given) if data.draw(st.booleans()) else given
    same = np.array_equal(given.astype(np.float64), kept.astype(np.float64))
    floats_as_integers = dtype.kind in "iu" and kept.dtype.kind not in "iu"
    if same and not floats_as_integers:
        made = zemm.Linear.from_state_dict(state, engine=engine)
        assert np.array_equal(made(input_of(layer)), layer(input_of(layer)))
        return
    try:
        made = zemm.Linear.from_state_dict(state, engine=engine)
    except ValueError:
        return
    got = made.state_dict()[name]
    assert got.dtype == kept.dtype
    assert np.array_equal(got.astype(np.float64), given.astype(np.float64))


def test_arrays_of_other_shapes(engine: zemm.Engine) -> None:
    """Each would make a layer, but another one."""
    layer, _ = make(Form(), engine)
    state = layer.state_dict()
    wrong = {
        "scales": state["scales"][:2],
        "zero_points": state["zero_points"][:1],
        "values": state["values"][:32],
        "bias": None,
    }
    for name, array in wrong.items():
        with pytest.raises(ValueError, match=f"the layer '' is damaged.*{name}"):
            zemm.Linear.from_state_dict({**state, name: array}, engine=engine)
    without = make(Form(zero_points=None), engine)[0].state_dict()
    with pytest.raises(ValueError, match="zero_points, of which its config says nothing"):
        zemm.Linear.from_state_dict({**without, "zero_points": state["zero_points"]}, engine=engine)
    cut = {**wrong, "bias": state["bias"]}
    with pytest.raises(ValueError, match="damaged"):
        zemm.Linear.from_state_dict({**state, **cut}, engine=engine)


@pytest.mark.parametrize("dtype", [np.float32, BF16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_files_with_the_types_themselves(engine: zemm.Engine, tmp_path: Path, dtype: Any) -> None:
    """As safetensors writes a state of torch: zemm's own files have integers for types of ml_dtypes."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    layer, _ = make(Form(values=dtype, scales=None, zero_points=None, bias=BF16), engine)
    numpy_files.save_file(layer.state_dict("a."), tmp_path / "file")
    loaded = zemm.load_layers(tmp_path / "file", engine=engine)["a"]
    assert np.array_equal(loaded(input_of(layer)), layer(input_of(layer)))


def test_packed_weights_have_no_saved_form(engine: zemm.Engine) -> None:
    values, scales, points = (arrays_of(Form(foreign=True))[n] for n in ("values", "scales", "zero_points"))
    packed = zemm.pack(values, scales, points, engine=engine)
    x = input_of(make(Form(), engine)[0])
    expected = zemm.matmul(x, packed)
    overwrite({"scales": scales, "points": points})
    assert np.array_equal(zemm.matmul(x, packed), expected)
    for save in (copy.deepcopy, pickle.dumps):
        with pytest.raises(ValueError, match="neither copied nor pickled"):
            save(packed)


CONFIGS: dict[str, Any] = {
    "deep": b"[" * 200_000,
    "no object": b"[]",
    "not JSON": b"\xff{",
    "types": {"types": [1]},
    "an unknown type": {"types": {"values": 5}},
    "dims, floats": {"dims": [64.0, 6.0]},
    "activation": {"activation": []},
    "group": {"activation": "int8", "activation_group": -1},
    "an argument": {"engine": "x"},
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_damaged_files(engine: zemm.Engine, tmp_path: Path, config: Any) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "damaged.safetensors"
    state = make(Form(), engine)[0].state_dict()
    if not isinstance(config, bytes):
        config = json.dumps({**json.loads(state["config"].tobytes()), **config}).encode()
    state["config"] = np.frombuffer(config, np.uint8)
    numpy_files.save_file(state, path)
    for load in (zemm.load_layers, zemm.Linear.load):
        with pytest.raises(ValueError, match=r"damaged.safetensors: the layer '' is damaged: \w+") as error:
            load(path, engine=engine)
        assert isinstance(error.value, zemm.InvalidArgumentsError)


def test_foreign_files(tmp_path: Path) -> None:
    numpy_files = pytest.importorskip("safetensors.numpy")
    numpy_files.save_file({"model.weight": np.ones((2, 2), np.float32)}, tmp_path / "foreign")
    with pytest.raises(ValueError, match=r"foreign: it holds no layers of zemm.*'model\.weight'"):
        zemm.load_layers(tmp_path / "foreign")
    zemm.save_layers(tmp_path / "none", {})
    assert zemm.load_layers(tmp_path / "none") == {}


def test_permissions_of_files(tmp_path: Path) -> None:
    """A file has the permissions of any new file, or of the one that it replaces."""
    pytest.importorskip("safetensors")
    layer = zemm.Linear.from_float(np.ones((K, N), np.float32), group=GROUP)
    for mask in (0o022, 0o077, 0o002):
        before = os.umask(mask)
        try:
            zemm.save_layers(tmp_path / f"{mask}", {"a": layer})
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{mask}").stat().st_mode) == 0o666 & ~mask
    (tmp_path / "18").chmod(0o640)
    layer.save(tmp_path / "18")
    assert stat.S_IMODE((tmp_path / "18").stat().st_mode) == 0o640
    assert len(list(tmp_path.iterdir())) == 3, "nothing else is left there"


def test_places_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file that the caller gave."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    layer = zemm.Linear.from_float(np.ones((K, N), np.float32), group=GROUP)
    for path, kind in (
        (tmp_path / "none" / "file", FileNotFoundError),
        (tmp_path, IsADirectoryError),
        (Path("/proc/file"), OSError),
    ):
        for write_to in (layer.save, lambda path: zemm.save_layers(path, {"a": layer})):
            with pytest.raises(kind, match=re.escape(f"'{path}'")) as error:
                write_to(path)
            assert ".zemm" not in str(error.value)

    def fail(arrays: Any, path: str) -> None:
        from safetensors import SafetensorError

        raise SafetensorError(f'No space left on device at path "{path}"')

    monkeypatch.setattr(numpy_files, "save_file", fail)
    with pytest.raises(OSError, match=rf"'{tmp_path}/file' cannot be written: No space .*{tmp_path}/file"):
        layer.save(tmp_path / "file")
    assert not list(tmp_path.iterdir())
