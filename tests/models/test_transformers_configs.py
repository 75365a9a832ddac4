# SPDX-License-Identifier: Apache-2.0
"""What the quantization_config of a checkpoint or a ZemmConfig may say: entries of each type, names of
modules, and regular expressions, which come from a file and have to end."""

import random
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from support_checkpoints import in_words, llama, load, torch, transformers
from test_transformers import layers_of
from zemm.errors import InvalidArgumentsError, ZemmError
from zemm.torch._expert_places import Place
from zemm.transformers._formats import FORMATS
from zemm.transformers._formats import patterns as matching
from zemm.transformers._formats.compressed_schemes import Schemes
from zemm.transformers._formats.format import names_kept

WEIGHTS = {"num_bits": 4, "group_size": 32, "strategy": "group", "type": "int", "symmetric": True}
GROUP = {"targets": ["Linear"], "format": "pack-quantized", "weights": WEIGHTS}
# The objects of a config, from the outside, and the keys of the last one.
PLACES: dict[str, list[tuple[list[str], dict[str, Any]]]] = {
    "gptq": [
        ([], {"bits": 4, "group_size": 32, "desc_act": False, "sym": True, "checkpoint_format": "gptq"}),
        ([], {"bits": 4, "dynamic": {}, "modules_to_not_convert": []}),
        (["dynamic", ".*up_proj"], {"bits": 8, "group_size": 16}),
    ],
    "awq": [([], {"bits": 4, "version": "gemm", "zero_point": True, "modules_to_not_convert": None})],
    "auto-round": [
        ([], {"bits": 4, "packing_format": "auto_round", "data_type": "int", "act_bits": 16}),
        ([], {"bits": 4, "extra_config": {}}),
        (["extra_config", "model.up_proj"], {"bits": 8, "group_size": 16}),
    ],
    "compressed-tensors": [
        ([], {"config_groups": {"g": GROUP}, "ignore": [], "sparsity_config": {}, "transform_config": None}),
        (["config_groups"], {"g": GROUP}),
        (["config_groups", "g"], {**GROUP, "input_activations": None}),
        (["config_groups", "g", "weights"], WEIGHTS),
        (
            ["config_groups", "g", "input_activations"],
            {"num_bits": 8, "type": "int", "strategy": "group", "group_size": 32, "symmetric": True},
        ),
        (["sparsity_config"], {"format": "dense"}),
        (["transform_config"], {"config_groups": {}}),
    ],
    "mxfp4": [([], {"modules_to_not_convert": []})],
}
BASES: dict[str, dict[str, Any]] = {
    "gptq": {"bits": 4},
    "awq": {"bits": 4},
    "auto-round": {"bits": 4},
    "compressed-tensors": {"config_groups": {"g": GROUP}},
    "mxfp4": {},
}
WRONG: list[Any] = ["x", 5, -3, 1.5, True, [1], [[]], {"a": 5}, {"a": {"bits": "x"}}, {5: "x"}]


def in_group(**weights: Any) -> dict[str, Any]:
    """A config whose group has other weights."""
    return {"config_groups": {"g": {**GROUP, "weights": {**WEIGHTS, **weights}}}}


def kept(names: Any) -> dict[str, Any]:
    return {"modules_to_not_convert": names}


def with_value(config: dict[str, Any], path: list[str], last: dict[str, Any]) -> dict[str, Any]:
    """The config with an object at a path."""
    if not path:
        return {**config, **last}
    inner = config.get(path[0]) or {}
    return {**config, path[0]: with_value(inner, path[1:], last)}


@pytest.mark.parametrize("method", FORMATS)
def test_values_of_other_types(method: str) -> None:
    """They are read, or refused with the key. None is as if the key was missing."""
    said = []
    for path, entries in PLACES[method]:
        for key in entries:
            for value in [None, *WRONG]:
                config = with_value(BASES[method], path, {**entries, key: value})
                try:
                    form = FORMATS[method](config)
                    form.skips("model.up_proj")
                    form.keeps("model.up_proj")
                except ZemmError as error:
                    said.append(([*path[-1:], key.rstrip("s")], str(error)))
    assert len(said) > 2 * len(PLACES[method])
    assert [sentence for words, sentence in said if not any(word in sentence for word in words)] == []


NAMES = ["lm_head", "model.layers.1.mlp.up_proj", "model.layers.11.mlp.up_proj", "model.visual.fc1", "score"]
KEYS = [
    "lm_head",
    "model.layers.1",
    "model.layers.1.",
    "layers.1",
    "proj",
    "mlp",
    ".*visual",
    "up|score",
    "fc1",
]


@pytest.mark.parametrize("key", KEYS)
def test_names_are_those_of_transformers(key: str) -> None:
    rule = getattr(transformers.quantizers.quantizers_utils, "should_convert_module", None)
    if rule is None:
        pytest.skip("Transformers 4 has another rule for each quantizer")
    fits = names_kept({"modules_to_not_convert": [key]}, "")[key]
    assert [fits(name) for name in NAMES] == [not rule(name, [key]) for name in NAMES]


REFUSED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "gptq": [
        ({"bits": 2}, "the quantization_config has bits 2: zemm reads GPTQ with 3 or 4 or 8"),
        ({"group_size": 0}, "has group_size 0, neither a positive integer nor -1"),
        ({"checkpoint_format": "marlin"}, "checkpoint_format 'marlin': zemm reads GPTQ with gptq or gptq_v2"),
    ],
    "awq": [
        ({"version": "gemv"}, "the quantization_config has version 'gemv': zemm reads AWQ with gemm"),
        ({"bits": 8}, "the quantization_config has bits 8: zemm reads AWQ with 4"),
    ],
    "auto-round": [
        (
            {"packing_format": "auto_round:fp8_static"},
            "has packing_format 'auto_round:fp8_static'",
        ),
        ({"data_type": "mx_fp"}, "has data_type 'mx_fp': zemm reads AutoRound with int"),
        ({"act_bits": 8}, "has act_bits 8: zemm reads AutoRound with activations of 16 bits or more"),
    ],
    "compressed-tensors": [
        (
            {"config_groups": {"g": {**GROUP, "format": "marlin-24"}}},
            "the group g of quantization_config has the format",
        ),
        ({"sparsity_config": {"format": "sparse-24-bitmask"}}, "zemm reads dense weights only"),
        ({"transform_config": {"config_groups": {"u": {}}}}, "transform_config rotates the"),
        ({"config_groups": {}}, "config_groups of quantization_config has no groups"),
        ({"config_groups": {"W8A8": ["Linear"]}}, "of the quantization_config has W8A8 a list, not"),
        ({"ignore": "lm_head"}, "the quantization_config has ignore 'lm_head', not a list of names"),
        (in_group(num_bits=16), "has weights with num_bits 16 and the type 'int'"),
        (in_group(type="float"), "has floating-point weights of 4 bits, zemm reads 8"),
        (in_group(strategy="token"), "has weights with the strategy 'token', none of tensor, channel"),
        (in_group(group_size=0), "has weights with group_size 0, not a number from 1 on"),
    ],
    "zemm": [
        ({"bits": 3}, "bits is 3, neither 4 nor 8"),
        ({"group": 0}, "group is 0, which is not in 1.."),
        ({"activation": "f64"}, "activation is 'f64', none of"),
        ({"scale_dtype": "s8"}, "scale_dtype is 's8', none of f32, f16, bf16"),
        ({"group_size": 64}, "ZemmConfig has no setting 'group_size'"),
        (kept("lm_head"), "ZemmConfig has modules_to_not_convert 'lm_head', not a list of names"),
        (kept([1]), "ZemmConfig has modules_to_not_convert with 1, which is no name"),
        (kept(["*.down_proj"]), "of ZemmConfig has '*.down_proj', which is no regular expression"),
        (kept(["a)(b"]), "of ZemmConfig has 'a)(b', which is no regular expression"),
    ],
}


@pytest.mark.parametrize("method", REFUSED)
def test_configs_that_are_refused(method: str) -> None:
    readers: dict[str, Any] = {**FORMATS, "zemm": lambda config: zemm.transformers.ZemmConfig(**config)}
    for change, sentence in REFUSED[method]:
        with pytest.raises((ValueError, NotImplementedError), match=re.escape(sentence)):
            readers[method]({**BASES.get(method, {}), **change})


def test_names_that_fit_nothing(tmp_path: Path) -> None:
    llama().save_pretrained(tmp_path)
    for kept, missing in (
        (["model.layers.0."], None),
        (["does.not.exist"], "does.not.exist"),
        (["self_attn", "lm_head"], "self_attn"),  # it ends the name of no layer
        (["re:.*down_proj"], "re:.*down_proj"),
    ):
        config = zemm.transformers.ZemmConfig(bits=8, group=32, modules_to_not_convert=kept)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model = load(tmp_path, quantization_config=config)
        said = sorted({str(w.message) for w in found if "modules_to_not_convert" in str(w.message)})
        assert said == [
            f"modules_to_not_convert has {name!r}, which fits no layer of the model"
            for name in [missing]
            if name
        ]
        assert len(layers_of(model)) == {"model.layers.0.": 8, "self_attn": 14}.get(kept[0], 15)


def test_nothing_is_left(tmp_path: Path) -> None:
    llama().save_pretrained(tmp_path)
    config = zemm.transformers.ZemmConfig(group=32, modules_to_not_convert=["model", "lm_head"])
    with pytest.raises(NotImplementedError, match="no layer of the model is quantised"):
        load(tmp_path, quantization_config=config)


ENDLESS = [
    "(a+)+$", "(a|a)*$", "(a|aa)+$", "(a*)*b", "(.*)*x", "([a-z]+)*!", ".*a" * 12 + "b", "(a?){40}a{40}b",
    "a?" * 40 + "a" * 40 + "b", "(a|a)" * 40 + "b", "(?=(a+)+$)b", "(a+){1,64000}!",
    "(?:){4000000000}!", "(?<=a)(a|a)*(a|a)*!",
]  # fmt: skip


@pytest.mark.parametrize("text", ENDLESS)
def test_patterns_end(text: str) -> None:
    name = "a" * 200
    begin = time.monotonic()
    matching.pattern(text, "x")(name + "!")
    FORMATS["gptq"]({"bits": 4, "dynamic": {text: {}}}).skips(name)
    group = {**GROUP, "targets": [f"re:{text}"]}
    Schemes({"config_groups": {"g": group}, "ignore": [f"re:{text}"]}).of({name})
    names_kept({"modules_to_not_convert": [text]}, "")[text](name)
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    ("text", "why"), [("((a+)+)+", "3 deep"), (r"(a+)(b+)(c+)\1", "GROUPREF"), ("(?i)(a+)+", "a flag")]
)
def test_patterns_that_are_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidArgumentsError, match=f"dynamic of the quantization_config has .*{why}"):
        FORMATS["gptq"]({"bits": 4, "dynamic": {text: {}}})


def test_patterns_are_those_of_re(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random ones, matched without re."""
    monkeypatch.setattr(matching, "_FEW_CHOICES", -1)
    generator = random.Random(0)

    def made(depth: int) -> str:
        parts = ["a", "b", ".", r"\.", "[ab]", "[^a.]", r"\d", r"\w", "^", "$"]
        if depth:
            inner = made(depth - 1)
            kinds = (
                "({})",
                "(?:{})",
                "({})*",
                "({})+?",
                "({}){{1,2}}",
                "({}){{2}}",
                "(?={})",
                "(?!{})",
                "({}|{})",
                "(?<=a){}",
            )
            kind = generator.choice(kinds)
            parts += [kind.format(inner, made(depth - 1))] * 10
        return "".join(generator.choices(parts, k=generator.randint(1, 3)))

    compared = 0
    for _ in range(2000):
        text = made(2)
        try:
            fits = matching.pattern(text, "x")
        except InvalidArgumentsError:
            continue
        for _ in range(5):
            name = "".join(generator.choices("ab.1", k=generator.randint(0, 6)))
            assert fits(name) == (re.match(text, name) is not None), (text, name)
            compared += 1
    assert compared > 3000


@pytest.mark.parametrize("bits", [3, 4, 8])
def test_gptq_zero_points_of_0(bits: int) -> None:
    """Stored as the largest integer; or, by makers that subtract from words, borrowed from the neighbour."""
    top, count = 2**bits - 1, 32 if bits == 3 else 32 // bits
    rng = np.random.default_rng(bits)
    zero_points = np.concatenate([rng.integers(0, most, (9, count)) for most in (1, 2, 3, top + 1)])
    words = in_words(zero_points, bits)
    ones = in_words(np.ones((1, count), np.int64), bits)
    stored = {"": in_words((zero_points - 1) & top, bits), "gptqmodel:2.0.0": words - ones}
    groups = len(zero_points)
    place = Place("l", 8 * groups, count, False)
    tensors = {
        "qweight": torch.zeros(8 * groups * bits // 32, count, dtype=torch.int32),
        "scales": torch.ones(groups, count, dtype=torch.float16),
    }
    for maker, qzeros in stored.items():
        for about in ({"meta": {"quantizer": [maker]}}, {"provider": "auto-round" if maker else None}):
            config = {"bits": bits, "group_size": 8, **about}
            found = FORMATS["gptq"](config).weights(place, {**tensors, "qzeros": torch.from_numpy(qzeros)})
            assert np.array_equal(np.asarray(found.zero_points).T, zero_points)
    config = {"bits": bits, "group_size": 8, "packing_format": "auto_round:auto_gptq"}
    qzeros = torch.from_numpy(stored["gptqmodel:2.0.0"])
    found = FORMATS["auto-round"](config).weights(place, {**tensors, "qzeros": qzeros})
    assert np.array_equal(np.asarray(found.zero_points).T, zero_points)
