# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.quantize_(): which layers of a model it replaces, what it says, and that the model works as one
whose layers were replaced by hand."""

import io
import re
from collections.abc import Callable
from typing import Any

import pytest
import zemm
from support_torch import torch

VOCABULARY, WIDTH, HIDDEN = 96, 72, 86


class Block(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: Any) -> Any:
        return x + self.down(torch.relu(self.up(x)))


class Model(torch.nn.Module):  # type: ignore[misc]
    """A small language model whose head is tied to its embedding."""

    def __init__(self, tied: bool = True) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.ModuleList([Block(), Block()])
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids: Any) -> Any:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def model_of(seed: int = 1, tied: bool = True) -> Any:
    torch.manual_seed(seed)
    return Model(tied).requires_grad_(False).eval()


IDS = torch.randint(0, VOCABULARY, (2, 5), generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("embeddings", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_model(tied: bool, embeddings: bool) -> None:
    model = model_of(tied=tied)
    expected = model(IDS)
    before = {id(p): p.nbytes for p in model.parameters()}
    report = zemm.torch.quantize_(model, bits=8, group=24, embeddings=embeddings)
    got = model(IDS)
    assert (got - expected).abs().max() < 0.03 * expected.abs().max()
    assert not [m for m in model.modules() if type(m) is torch.nn.Linear]
    assert isinstance(model.embed, zemm.torch.QuantEmbedding) == embeddings
    if tied and embeddings:
        assert model.embed.table is model.head
    listed = embeddings or tied
    assert [row.name for row in report] == ["embed"] * listed + [
        f"blocks.{i}.{name}" for i in (0, 1) for name in ("up", "down")
    ] + ["head"]
    assert [(row.bits, row.group) for row in report if row.k == HIDDEN] == [(8, 24)] * 2
    assert report["head"].group == 24
    rest = before[id(model.embed.weight)] if not listed else 0
    assert report.nbytes_before + rest == sum(before.values())
    weights = [m.layer for m in model.modules() if isinstance(m, zemm.torch.QuantLinear)]
    kept = model.embed.weight.nbytes if tied and not embeddings else 0
    used = sum(layer.weights.nbytes + (0 if layer.bias is None else layer.bias.nbytes) for layer in weights)
    assert report.nbytes_after == used + kept
    if listed and not embeddings:
        assert report["embed"].note == "it stays: embeddings=False"


def test_report_prints_as_a_table() -> None:
    text = str(zemm.torch.quantize_(model_of(), bits=4, group=36, embeddings=True))
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["layer", "type", "K", "N", "bits", "group", "before", "after"]
    assert lines[1][:6] == ["embed", "Embedding", "72", "96", "4", "36"]
    assert text.splitlines()[1].endswith("reads the weights of head")
    assert lines[3][:6] == ["blocks.0.down", "Linear", "86", "72", "4", "36"]
    assert lines[-1][:4] == ["6", "of", "6", "replaced"]


@pytest.mark.parametrize("embeddings", [False, True])
def test_state_dict(embeddings: bool) -> None:
    """It is loaded into a model that was quantised alike, and into one that was made without weights."""
    options: dict[str, Any] = {"bits": 4, "group": 24, "embeddings": embeddings}
    model, other = model_of(1), model_of(2)
    with torch.device("meta"):
        empty = Model()
    for each in (model, other, empty):
        report = zemm.torch.quantize_(each, **options)
    assert "empty: load_state_dict() fills it" in str(report)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    if not embeddings:
        empty.embed.to_empty(device="cpu").requires_grad_(False)
    for each in (other, empty):
        file.seek(0)
        each.load_state_dict(torch.load(file))
        assert torch.equal(each(IDS), model(IDS))


class Own(torch.nn.Linear):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return 2 * super().forward(x)


class Named(torch.nn.Linear):  # type: ignore[misc]
    """A subclass that changes nothing."""


def hooked() -> Any:
    layer = torch.nn.Linear(8, 8)
    layer.register_forward_hook(lambda *_: None)
    return layer


def computed() -> Any:
    layer = torch.nn.Linear(8, 8)
    weight = layer.weight.detach()
    del layer.weight
    layer.weight = weight
    return layer


def wrapped() -> Any:
    layer = torch.nn.Linear(8, 8)
    layer.forward = layer.forward
    return layer


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "own forward": (lambda: Own(8, 8), r"this Own has a forward\(\) of its own"),
    "wrapped forward": (wrapped, r"a forward\(\) of its own"),
    "hooks": (hooked, "hooks, which would be lost"),
    "parametrisation": (
        lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(8, 8)),
        "parametrisations",
    ),
    "computed weight": (computed, "its weight is no parameter"),
    "lazy": (lambda: torch.nn.LazyLinear(8), "sizes are not known"),
    "no rows": (lambda: torch.nn.Linear(8, 0), "nothing to multiply"),
    "f8": (lambda: torch.nn.Linear(8, 8).to(torch.float8_e4m3fn), "type torch.float8_e4m3fn"),
}


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors:UserWarning")
def test_layers_that_stay(name: str) -> None:
    make, reason = LEFT[name]
    model = torch.nn.Sequential(make(), Named(8, 8))
    old = model[0]
    report = zemm.torch.quantize_(model)
    assert model[0] is old
    assert [row.name for row in report.skipped] == ["0"]
    assert re.search(reason, report["0"].note), report["0"].note
    assert report["1"].group == 8
    assert isinstance(model[1], zemm.torch.QuantLinear)


@pytest.mark.parametrize("norm_first", [False, True])
def test_torchs_transformer(norm_first: bool) -> None:
    """Some of its modules read weights of their linears without calling these."""
    torch.manual_seed(0)
    model = torch.nn.Transformer(16, 2, 1, 1, 32, batch_first=True, norm_first=norm_first).eval()
    x = torch.randn(1, 3, 16)
    with torch.no_grad():
        expected = model(x, x)
        report = zemm.torch.quantize_(model)
        got = model(x, x)
    assert [row.name for row in report.replaced] == [
        "decoder.layers.0.linear1",
        "decoder.layers.0.linear2",
    ]
    assert {row.note for row in report.skipped} == {
        "the MultiheadAttention that has it reads its weight itself",
        "the TransformerEncoderLayer that has it reads its weight itself",
    }
    assert (got - expected).abs().max() < 0.05


def test_filter_and_shared_layers() -> None:
    """A module with several names is replaced at all, and layers with one weight have it once."""
    model = torch.nn.Sequential(*(torch.nn.Linear(16, 16).requires_grad_(False) for _ in range(4)))
    model[2].weight, model[2].bias = model[0].weight, model[0].bias
    model.again = model[0]
    report = zemm.torch.quantize_(model, filter=lambda module, name: name != "3")
    assert model.again is model[0]
    assert model[2].layer is model[0].layer
    assert [row.is_replaced for row in report] == [True, True, True, False]
    assert report["3"].note == "filter refuses it"
    assert report["2"].nbytes_before == report["2"].nbytes_after == 0
    assert isinstance(model[3], torch.nn.Linear)


def test_errors_change_nothing() -> None:
    model = model_of()
    model.blocks[1].down.weight[3, 5] = torch.nan
    linears = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    with pytest.raises(ValueError, match=r"blocks\.1\.down: .*nan; .*no layer was replaced"):
        zemm.torch.quantize_(model, group=24)
    for options, sentence in (
        ({"bits": 5}, r"blocks\.0\.up: bits is 5.*no layer was replaced"),
        ({"group": 0}, "group is 0"),
        ({"activation": "int4"}, r"blocks\.0\.up: activation is 'int4'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            zemm.torch.quantize_(model, **options)
    assert [m for m in model.modules() if isinstance(m, torch.nn.Linear)] == linears
    with pytest.raises(ValueError, match=r"use zemm.torch.QuantLinear.from_linear\(model\)"):
        zemm.torch.quantize_(torch.nn.Linear(8, 8))
    with pytest.raises(ValueError, match="model is a list"):
        zemm.torch.quantize_([])


def test_note_of_f32_scales() -> None:
    """A layer whose scales f16 cannot hold has a note; others, and empty ones, have none."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Linear(32, 16), torch.nn.Embedding(8, 64))
    with torch.no_grad():
        model[0].weight *= 1e-6
        model[2].weight *= 1e-7
    report = zemm.torch.quantize_(model, bits=4, group=32, scale_dtype="f16", embeddings=True)
    assert [bool(re.match("f32 scales: f16 has too few", row.note)) for row in report] == [True, False, True]
    model = torch.nn.Sequential(torch.nn.Linear(64, 32, device="meta"))
    assert "empty" in zemm.torch.quantize_(model, scale_dtype="f16")["0"].note
