# SPDX-License-Identifier: Apache-2.0
"""Parts of the grammar: numbers, tags, masks, attributes, post-ops, descriptors, knobs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zemm._library import library
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms, attributes, knobs, masks, options
from zemm.benchdnn.grammar.attributes import Rounding
from zemm.benchdnn.grammar.bre import compiled
from zemm.benchdnn.grammar.descriptor import parse_descriptor
from zemm.benchdnn.grammar.encodings import Grouped, Sparsity
from zemm.benchdnn.grammar.options import ImplFilter, Options
from zemm.benchdnn.grammar.post_ops import Binary, Eltwise, Operand, Prelu, Sum, parse_post_ops
from zemm.benchdnn.grammar.settings import Settings
from zemm.benchdnn.grammar.tags import normalized, parse_tag


@given(st.integers(-(2**63), 2**63 - 1))
def test_integer_round_trip(value: int) -> None:
    assert atoms.integer(str(value), "") == value


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_number_round_trip(value: float) -> None:
    shown = atoms.show_number(value)
    assert atoms.number(shown, "") == value
    assert "+" not in shown  # '+' separates the parts of --attr-scales and similar options


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("abx", ("ab", "abc", "abcd")),
        ("axb", ("ab", "acb", "acdb")),
        ("xba", ("ba", "cba", "cdba")),
        ("xab", ("ab", "cab", "cdab")),
        ("bax", ("ba", "bac", "bacd")),
        ("aBx16b", ("aB16b", "aBc16b", "aBcd16b")),
        ("AxB16b4a", ("AB16b4a", "AcB16b4a", "AcdB16b4a")),
    ],
)
def test_meta_tags(tag: str, expected: tuple[str, ...]) -> None:
    assert tuple(normalized(tag, ndims) for ndims in (2, 3, 4)) == expected


def test_every_name_of_the_enum_is_a_tag() -> None:
    """Names of the same value stand for the same layout, with exceptions in oneDNN's enum, which
    benchdnn does not take."""
    exceptions = {"OhwI24o", "OhwI32o", "gOhwI24o", "gOhwI32o", "gIOhw2i8o16i2o", "gIOdhw2i8o16i2o"}
    numbers = {name: library.value_of("format_tag", name) for name in library.names_of("format_tag")}
    plain = {number: name for name, number in numbers.items() if re.fullmatch("[a-lA-L0-9]+", name)}
    for name in set(numbers) - exceptions - {"any", "undef", "last"}:
        assert parse_tag(name, "--stag", enum_only=True) == name
        assert normalized(name) == plain[numbers[name]]


def test_meta_tags_outside_of_the_enum() -> None:
    assert parse_tag("dcabx", "--stag", enum_only=False) == "dcabx"
    with pytest.raises(UsageError, match="allow-enum-tags-only=0"):
        parse_tag("dcabx", "--stag", enum_only=True)
    assert normalized("OI7i3o") == "AB7b3a"
    assert parse_tag("OI7i3o", "--stag", enum_only=False)


@pytest.mark.parametrize(
    "tag", ["aa", "ac", "B16", "xx!", "abm", "", "ABc4a", "ab4a", "AB16b0a", "aCb4a", "axbx"]
)
def test_unknown_tags(tag: str) -> None:
    with pytest.raises(UsageError):
        parse_tag(tag, "--stag", enum_only=False)


@pytest.mark.parametrize(
    ("policy", "two", "four"),
    [("common", 0, 0), ("per_oc", 2, 8), ("per_ocic", 3, 12), ("per_dim_1", 2, 2), ("per_dim_01", 3, 3),
     ("per_tensor", 3, 15), ("mx", 3, 15), ("host_scalar", 0, 0), ("5", 5, 5)],
)  # fmt: skip
def test_quantization_masks(policy: str, two: int, four: int) -> None:
    assert (masks.quantization_mask(policy, 2), masks.quantization_mask(policy, 4)) == (two, four)


def test_grouped_dims_divide_the_last_two() -> None:
    assert masks.grouped_dims(7, (32, 1), (2, 64, 5)) == (2, 2, 5)
    assert masks.grouped_dims(4, (), (2, 64, 5)) == (1, 1, 5)


def test_float_zero_points() -> None:
    line = "--attr-zero-points=wei:common:-1.5:f16"
    assert attributes.KNOBS["zero_points"].parse("wei:common:-1.5:f16", "")[0].value == -1.5
    assert attributes.Attributes(
        zero_points=attributes.KNOBS["zero_points"].parse(line[19:], "")
    ).changed() == [line]
    grouped = attributes.KNOBS["zero_points"].parse("wei:per_tensor:f16:32x1", "")[0]
    assert (grouped.data_type, grouped.groups) == ("f16", (32, 1))
    with pytest.raises(UsageError, match=r"1\.5"):
        attributes.KNOBS["zero_points"].parse("wei:common:1.5:s8", "")
    with pytest.raises(UsageError, match="negative"):
        attributes.KNOBS["scales"].parse("wei:common:-1.5:f16", "")


def test_post_ops() -> None:
    chain = parse_post_ops(
        "sum:2:1:s8+Eltwise_Relu:0.1+binary_add:f16:3:ab+select:f32.per_oc:common+prelu:per_oc", ""
    )
    assert chain == (
        Sum(2.0, 1, "s8"),
        Eltwise("relu", atoms.number("0.1", "")),
        Binary("add", "f16", Operand("3", "ab")),
        Binary("select", "f32", Operand("per_oc"), Operand("common")),
        Prelu("per_oc"),
    )


@pytest.mark.parametrize(
    "text",
    ["sum", "sum:0.5", "sum:1:3", "sum:1:0:s8", "relu", "linear:2:-1", "clip:-1:1",
     "eltwise_tanh_use_dst_for_bwd",
     "add:f32", "mul:f16:6:abc", "add:f32:2:abc:4x1", "select:f16.per_oc", "select:f32.per_oc.ab:common.any",
     "prelu",
     "prelu:2", "dw:k3s1p1", "dw:k3s2p0:s8", "sum+relu+sum:2"],
)  # fmt: skip
def test_post_op_round_trip(text: str) -> None:
    chain = parse_post_ops(text, "")
    assert parse_post_ops("+".join(map(str, chain)), "") == chain


def test_descriptor() -> None:
    problem = parse_descriptor('2x1x3x4:2x5x4x6_n"a_name:1*2"')
    assert (problem.src, problem.wei, problem.dst) == ((2, 1, 3, 4), (2, 5, 4, 6), (2, 5, 3, 6))
    assert (problem.m, problem.n, problem.k, problem.ops) == (3, 6, 4, 2 * 180 * 4)
    assert problem.name == '"a_name:1*2"'
    assert parse_descriptor('97x2053:2053x997n"x"').n == 997
    assert parse_descriptor("0x4:4x5").dst == (0, 5)
    assert parse_descriptor("0x3x4:1x4x5").dst == (0, 3, 5)
    assert parse_descriptor("3x1:1").wei == (1, 1)


@pytest.mark.parametrize(
    "token",
    ["3", "3x4", "3x4:4x5:6", "3:4", "3x-4:4x5", "3x:4x5", "1x2:n", "x".join("1" * 13) + ":1"],
)
def test_bad_descriptor(token: str) -> None:
    with pytest.raises(UsageError, match="problem"):
        parse_descriptor(token)


def applied(name: str, text: str) -> Settings:
    settings = Settings()
    knobs.apply(settings, name, text, True)
    return settings


def test_knobs() -> None:
    assert applied("dt", "f32,s8:u8:f16").dt == [("f32",), ("s8", "u8", "f16")]
    assert applied("dt", "f16,,bf16,").dt == [("f16",), ("f32",), ("bf16",), ("f32",)]
    assert applied("strides", "8x1::4x1").strides == [((8, 1), (), (4, 1))]
    assert applied("runtime_dims_masks", "0,3:3").runtime_dims_masks == [(0, 0), (3, 3)]
    assert applied("encoding", "csr+0.5::").layout[0].tensors[0] == Sparsity("csr", 0.5)  # type: ignore[union-attr]
    assert applied("grouped", "0:2:3+4:8").layout == [Grouped(0, (3, 4), 8)]
    assert applied("attr-rounding-mode", "").get("rounding_mode") == []
    assert applied("attr-rounding-mode", "dst:stochastic:5+src:environment").get("rounding_mode") == [
        (Rounding(1, "environment", 5), Rounding(17, "stochastic", 5))
    ]
    assert applied("ctx-init", "auto:0,4").ctx_init == ["auto:0:auto", "4:auto:auto"]
    assert applied("skip-impl", '"ref",x64:gemm').impl_filter == ImplFilter(("ref", "x64:gemm"), True)
    assert applied("attr-dropout", "0.5:7:undef:3:true").get("dropout")[0].on_host
    assert applied("attr-fpmath", "F16:true").get("fpmath")[0].apply_to_int


# Values of options that cannot be read.
BAD = {
    "attr-scales": "src src: source:common src:common:-1 src:per_oc:f17 src:per_oc:f16:4 wei:per_oc:f16:4x0 "
    "src:common:1:f32:1x1:9 src:percommon",
    "attr-post-ops": "summ add relu: relu+ add:f33 add:f32:per_x dw:3 dw sum:1:2:s8:4 linear:a",
    "dt": "f17 f32:",
    "strides": "1x2",
    "bia_mask": "a",
    "runtime_dims_masks": "1:2:3",
    "encoding": "csv:: csr+0.5 csr+2::",
    "grouped": "0:2:3",
    "attr-acc-mode": "f64",
    "attr-dropout": "1.5 -0.1 0.5:x 0.5:1:aa 0.5:1:ab:-1 0.5:1:ab:0:maybe 0.5:1:ab:0:1:1",
    "attr-rounding-mode": "up dst:stochastic:1+src:stochastic:2",
    "ctx-init": "0 -1",
    "ctx-exe": "2:-1",
    "attr-scratchpad": "mine",
    "attr-reduced-range": "wei",
    "attr-src-dyn-quant": "-1 32x1",
    "perf-template": "%tme%",
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name in BAD for text in BAD[name].split()])
def test_bad_values(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"--{name}") as error:
        applied(name, text)
    assert text.strip("%:") in str(error.value)


def applied_in_turn(*knobs: str) -> Options:
    found = Options()
    for knob in knobs:
        name, _, text = knob.partition("=")
        found = options.apply(found, name, text)
    return found


def test_global_knobs() -> None:
    assert applied_in_turn("engine=gpu:1").engine == ("gpu", 1)
    assert applied_in_turn("summary=no-failures,impl").summary == {"impl"}
    assert applied_in_turn("summary=impl", "summary=impl-csv").summary == {"failures", "impl-csv"}
    assert applied_in_turn("repeats-per-prb=-1").repeats_per_prb == 1
    assert applied_in_turn("fix-times-per-prb=-1").fix_times_per_prb == 0
    assert applied_in_turn("num-streams=3").num_streams == 3
    assert applied_in_turn("cold-cache=all+tlb:0.5g").cold_cache == "all+tlb:0.5g"


@pytest.mark.parametrize(
    ("text", "milliseconds"), [("5", 10), ("0", 10), ("70000", 60000), ("1.5e2", 150), ("", 3000)]
)
def test_milliseconds_have_bounds(text: str, milliseconds: float) -> None:
    assert applied_in_turn(f"max-ms-per-prb={text}").max_ms_per_prb == milliseconds


BAD_GLOBAL = (
    "mode=CP mode=X mode-modifier=X num-streams=0 max-ms-per-prb=x fix-times-per-prb=1.5 summary=all "
    "summary=impl+ cold-cache=some cold-cache=none+tlb cold-cache=all+tlb: cold-cache=all+tlb:5 "
    "cold-cache=all+tlb:xM engine=tpu engine=gpu: mem-check=2 memory-kind=svm"
)


@pytest.mark.parametrize("knob", BAD_GLOBAL.split())
def test_bad_global_knobs(knob: str) -> None:
    name, _, text = knob.partition("=")
    with pytest.raises(UsageError, match=f"--{name}") as error:
        applied_in_turn(knob)
    assert error.value.exit_code == (2 if name == "mode-modifier" else 1)


def test_modes_set_options() -> None:
    """As in benchdnn these stay when the mode changes again."""
    assert not applied_in_turn("mode=r").fills
    fast = applied_in_turn("mode=F")
    assert (fast.mode_modifier, fast.max_ms_per_prb, fast.fills) == ("PM", 10, False)
    simulated = applied_in_turn("mode=S")
    assert (simulated.mode_modifier, simulated.fix_times_per_prb, simulated.is_perf) == ("M", 1, True)
    assert applied_in_turn("mode=R", "mode=B").mode_modifier == "M"
    assert applied_in_turn("mode=R", "mode-modifier=P").mode_modifier == "PM"
    assert applied_in_turn("mode=R", "mode-modifier=").mode_modifier == ""
    assert applied_in_turn("engine=gpu", "mode=P").mode_modifier == "M"
    assert applied_in_turn("mode=P", "engine=gpu").mode_modifier == "M"


@pytest.mark.parametrize(
    ("mode", "name"), [("F", "max-ms-per-prb"), ("S", "fix-times-per-prb")], ids=["mode F", "mode S"]
)
def test_what_a_mode_fixes(mode: str, name: str) -> None:
    assert applied_in_turn(f"{name}=20", f"mode={mode}").mode == mode
    for text in ("20", ""):
        with pytest.raises(UsageError, match=f"cannot be changed in mode {mode}") as error:
            applied_in_turn(f"mode={mode}", f"{name}={text}")
        assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("[[:digit:]]x", "a2x", True),
        ("[^[:digit:]]x", "2x", False),
        ("*x", "2*x", True),
        ("*x", "2x", False),
        (r"\(*\)x", "*x", True),
        ("^*x", "*x", True),
        ("a+", "aa", False),
        ("a?|b{2}(c)", "a?|b{2}(c)", True),
        (r"^\(ab\)\{2\}$", "abab", True),
        (r"\(a\|b\)\1", "bb", True),
        (r"\(a\|b\)\1", "ab", False),
        (r"a\+b\?$", "caa", True),
        ("a^b$c", "a^b$c", True),
        ("[]a]", "]", True),
        (r"[\.]", "\\", True),
        ("[a-c-]x", "-x", True),
    ],
)
def test_matches(pattern: str, text: str, found: bool) -> None:
    assert bool(compiled(pattern, "--match").search(text)) == found


@pytest.mark.parametrize(
    "pattern", [r"\(", r"\)", "[a", r"a\{2", r"\{2\}", "[[:digits:]]", "[b-a]", "a\\", r"\1"]
)
def test_what_is_no_regular_expression(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"--match=.*: not a regular expression") as error:
        compiled(pattern, "--match")
    assert error.value.exit_code == 1
