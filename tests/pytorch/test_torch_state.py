# SPDX-License-Identifier: Apache-2.0
"""State dicts of zemm.torch.QuantLinear: what load_state_dict() takes, and that every saved form of a
module is the module."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zemm
from support_small_layers import TYPES, expected, layers, weights_of
from support_torch import GROUP, KINDS, K, N, linear, module_of, torch, x_of
from zemm.torch._parts import layer_of

State = dict[str, Any]


def model_of(kind: str, seed: int = 1) -> Any:
    return torch.nn.Sequential(module_of(kind, seed), torch.nn.ReLU())


def cut(name: str, groups: int) -> Callable[[State], None]:
    def change(state: State) -> None:
        state[name] = state[name][:groups]

    return change


def cut_layer(state: State) -> None:
    """The layer of a model with half of the inputs."""
    half = torch.nn.Sequential(
        zemm.torch.QuantLinear.from_linear(torch.nn.Linear(K // 2, N).requires_grad_(False), group=GROUP)
    )
    state.clear()
    state.update(half.state_dict())


def as_type(name: str, dtype: Any) -> Callable[[State], None]:
    def change(state: State) -> None:
        state[name] = state[name].to(dtype)

    return change


def without(name: str) -> Callable[[State], None]:
    return lambda state: state.pop(name)


def replaced(name: str, value: Any) -> Callable[[State], None]:
    return lambda state: state.update({name: value})


def on_meta(state: State) -> None:
    state["0.scales"] = state["0.scales"].to("meta")


REFUSED: dict[str, tuple[Callable[[State], None], str]] = {
    "fewer groups of scales": (cut("0.scales", 2), r"size mismatch for 0.scales: .*\[2, 48\].*\[4, 48\]"),
    "one group of zero points": (cut("0.zero_points", 1), r"size mismatch for 0.zero_points: .*\[1, 48\]"),
    "fewer values": (cut("0.values", 32), r"size mismatch for 0.values: .*\[32, 48\].*\[64, 48\]"),
    "other in_features": (
        cut_layer,
        r"size mismatch for 0.values: .*\[32, 48\].*current model is .*\[64, 48\]",
    ),
    "scales that need more digits": (as_type("0.scales", torch.int32), "scales has type int32"),
    "another device": (on_meta, "on the device meta"),
    "no scales": (without("0.scales"), r'Missing key\(s\) in state_dict: "0.scales"'),
    "no config": (without("0.config"), r'Missing key\(s\) in state_dict: "0.config"'),
    "one key more": (replaced("0.more", torch.ones(1)), r'Unexpected key\(s\) in state_dict: "0.more"'),
    "config of another kind": (replaced("0.config", torch.ones(3)), "0.config does not describe a layer"),
    "no tensor": (replaced("0.scales", [1.0]), "0.scales is a list, not a tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_states_that_are_refused(name: str) -> None:
    """The module keeps its layer, except where torch loads what fits and then refuses other keys."""
    change, sentence = REFUSED[name]
    model, x = model_of("u8"), x_of(3)
    y = model(x)
    state = model_of("u8", seed=3).state_dict()
    change(state)
    with pytest.raises(RuntimeError, match=sentence):
        model.load_state_dict(state)
    if name != "one key more":
        assert torch.equal(model(x), y)


def test_strict_false() -> None:
    """Keys that are missing or unexpected are returned, as torch does. Shapes are checked all the same."""
    model, other, x = model_of("u8"), model_of("u8", seed=3), x_of(3)
    y = model(x)
    state = other.state_dict()
    del state["0.scales"]
    state["0.more"] = torch.ones(1)
    keys = model.load_state_dict(state, strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["0.scales"], ["0.more"])
    assert torch.equal(model(x), y)
    state = other.state_dict()
    with pytest.raises(RuntimeError, match="size mismatch"):
        model.load_state_dict({**state, "0.scales": state["0.scales"][:2]}, strict=False)
    keys = model.load_state_dict({**state, "0.more": torch.ones(1)}, strict=False)
    assert keys.unexpected_keys == ["0.more"]
    assert torch.equal(model(x), other(x))


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_load(kind: str, assign: bool) -> None:
    """Whatever kind of layer the module had before. What happens to the tensors later is nothing to it."""
    other = model_of(kind, seed=3)
    before = "u4 with an odd N" if kind == "u4 with an odd N" else "u8"
    model, x = model_of(before), x_of(3)
    state = other.state_dict()
    assert str(model.load_state_dict(state, assign=assign)) == "<All keys matched successfully>"
    for tensor in state.values():
        tensor.zero_()
    assert torch.equal(model(x), other(x))
    assert model[0].extra_repr() == other[0].extra_repr()


def test_types_are_converted_by_value() -> None:
    model, other, x = model_of("u8"), model_of("u8, f16 dst", seed=3), x_of(3)
    state = other.state_dict()
    assert state["0.scales"].dtype == torch.float16
    state["0.scales"] = state["0.scales"].double()
    state["0.zero_points"] = state["0.zero_points"].int()
    state["0.values"] = torch.nn.Parameter(state["0.values"].float())
    model.load_state_dict(state)
    assert torch.equal(model(x), other(x))


def test_hooks() -> None:
    """torch calls them before a module loads its part, and they may change the state."""
    model, other, x = model_of("u8"), model_of("u8", seed=3), x_of(3)
    state = {f"{name}_": tensor for name, tensor in other.state_dict().items()}

    def rename(module: Any, state: State, prefix: str, *_: Any) -> None:
        for name in list(state):
            state[name.removesuffix("_")] = state.pop(name)

    model[0].register_load_state_dict_pre_hook(rename)
    model.load_state_dict(state)
    assert torch.equal(model(x), other(x))


def by_torch_save(module: Any) -> Any:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


def by_state_dict(module: Any) -> Any:
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    made = zemm.torch.QuantLinear.from_linear(linear(seed=9), group=GROUP)
    made.load_state_dict(torch.load(file))
    return made


FORMS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
    "torch.save": by_torch_save,
    "state_dict": by_state_dict,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scales", [torch.float32, torch.float16, torch.bfloat16])
def test_saved_forms(form: str, scales: Any) -> None:
    """Of layers that were made of a caller's tensors, to which the caller writes afterwards."""
    x = x_of(3)
    for zero_points in (torch.uint8, torch.float32):
        tensors = {
            "values": torch.randint(0, 256, (K, N), dtype=torch.uint8),
            "scales": (torch.rand(K // GROUP, N) + 0.1).to(scales),
            "zero_points": torch.randint(0, 256, (K // GROUP, N)).to(zero_points),
            "bias": torch.rand(N, dtype=torch.float32).to(scales),
        }
        module = zemm.torch.QuantLinear(zemm.Linear.from_quantized(**tensors))
        y = module(x)
        for tensor in tensors.values():
            tensor.fill_(1)
        made = FORMS[form](module)
        for name, value in module.state_dict().items():
            assert torch.equal(value, made.state_dict()[name]), name
            value.zero_()
        assert torch.equal(module(x), y)
        assert torch.equal(made(x), y)


MOVES: dict[str, Callable[[Any], Any]] = {
    "meta": lambda module: module.to("meta"),
    "a type and meta": lambda module: module.to(torch.device("meta"), torch.float16),
    "cuda": lambda module: module.cuda(),
}


@pytest.mark.parametrize("kind", ["layer", "model", "embedding", "tied embedding", "empty"])
@pytest.mark.parametrize("move", MOVES)
def test_other_devices_are_refused(move: str, kind: str) -> None:
    module = module_of("u8")
    other = {
        "layer": module,
        "model": torch.nn.Sequential(torch.nn.ReLU(), module),
        "embedding": zemm.torch.QuantEmbedding.from_embedding(torch.nn.Embedding(N, K), group=GROUP),
        "tied embedding": zemm.torch.QuantEmbedding.of(module),
        "empty": zemm.torch.QuantLinear(K, N),
    }[kind]
    with pytest.raises(ValueError, match=r"^Quant\w+ takes tensors of the host and cannot be moved \("):
        MOVES[move](other)


@pytest.mark.parametrize("kind", ["u8", "u4, int8", "no bias", "f8 with one scale"])
def test_empty_modules(kind: str) -> None:
    """A checkpoint needs no float model: an empty module, or one of a linear without bytes, loads it."""
    full, x = model_of(kind, seed=3), x_of(3)
    with torch.device("meta"):
        meta = zemm.torch.QuantLinear.from_linear(torch.nn.Linear(K, N))
    for module in (zemm.torch.QuantLinear(K, N), meta, copy.deepcopy(meta), pickle.loads(pickle.dumps(meta))):
        model = torch.nn.Sequential(module, torch.nn.ReLU())
        assert "in_features=64, out_features=48, bias=True, empty" in repr(model)
        assert dict(model.state_dict()) == {}
        with pytest.raises(ValueError, match=r"QuantLinear of 64 to 48 features is empty: load weights"):
            model(x)
        with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0.config"'):
            model.load_state_dict({})
        model.load_state_dict(full.state_dict())
        assert torch.equal(model(x), full(x))


def test_empty_modules_of_another_size_or_no_size() -> None:
    state = module_of("u8").state_dict()
    with pytest.raises(RuntimeError, match=r"size mismatch for values: .*\[64, 48\].*\[64, 49\]"):
        zemm.torch.QuantLinear(K, N + 1).load_state_dict(state)
    for sizes, sentence in (
        ((0, N), "in_features"),
        ((K, "48"), "out_features"),
        ((K,), "needs in_features"),
    ):
        with pytest.raises(ValueError, match=sentence):
            zemm.torch.QuantLinear(*sizes)


@pytest.mark.parametrize("data_type", TYPES)
def test_smallest_layers(data_type: Any) -> None:
    for layer in layers(data_type, (4, 16), (1, 2, 4)):
        want = expected(layer).astype(np.float32)
        module = zemm.torch.QuantLinear(layer)
        empty = zemm.torch.QuantLinear(layer.in_features, layer.out_features)
        empty.load_state_dict(module.state_dict())
        parts = [part.clone() for part in module._tensors()]
        for made in (empty.layer, layer_of(parts).layer):
            assert np.array_equal(weights_of(made), weights_of(layer))
        table = zemm.torch.QuantEmbedding.of(module)
        for count in {1, 2, layer.out_features}:
            ids = torch.arange(count) % layer.out_features
            assert np.allclose(table(ids).numpy(), want.T[ids.numpy()], rtol=1e-6)
