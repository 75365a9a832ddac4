# SPDX-License-Identifier: Apache-2.0
"""QuantLinear and QuantEmbedding stand for modules of torch: others read `weight` and `bias` of them as they
do of a torch.nn.Linear, and find the values that the layer multiplies by."""

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zemm
from support_torch import GROUP, KINDS, K, N, linear, module_of, table_of, torch, x_of


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_values(kind: str, dtype: Any) -> None:
    module = module_of(kind).to(dtype)
    table = torch.from_numpy(table_of(module)).to(dtype)
    weight, bias = module.weight, module.bias
    assert isinstance(module, torch.nn.Linear)
    assert (weight.dtype, weight.shape, weight.device.type) == (dtype, table.shape, "cpu")
    assert torch.equal(weight.clone(), table)
    assert torch.equal(weight[3:5].T, table[3:5].T)
    assert np.array_equal(module.to(torch.float32).weight.numpy(), table_of(module))
    assert (bias is None) == (module.layer.bias is None)
    if bias is not None:
        assert bias.dtype == dtype
        assert torch.equal(bias + 0, torch.from_numpy(np.array(module.layer.bias)).to(dtype))


USES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "linear": torch.nn.functional.linear,
    "views": lambda x, w, b: torch.cat([w.unsqueeze(0).expand(2, -1, -1)[1].chunk(2)[0], w.view(-1, K)]),
    "data": lambda x, w, b: w.data.float() + b.detach()[:, None],
    "a parameter": lambda x, w, b: torch.nn.Parameter(w) * 2,
    "out": lambda x, w, b: torch.mm(x, w.t(), out=torch.empty(2, N)),
    "a copy": lambda x, w, b: copy.deepcopy(w) + pickle.loads(pickle.dumps(b))[:, None],
    "a list": lambda x, w, b: torch.tensor(w.tolist()),
    "gradient of x": lambda x, w, b: torch.autograd.grad(
        torch.nn.functional.linear(x := x.requires_grad_(), w, b).sum(), x
    )[0],
    "likes": lambda x, w, b: torch.zeros_like(w) + w.new_ones(()),
}


@pytest.mark.parametrize("use", USES)
def test_uses(use: str) -> None:
    module, x = module_of("u8"), x_of(2)
    plain = torch.from_numpy(table_of(module)).contiguous(), torch.from_numpy(np.array(module.layer.bias))
    assert torch.equal(USES[use](x, module.weight, module.bias), USES[use](x, *plain))


def test_what_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attributes do not dequantise."""
    module = module_of("u8")
    monkeypatch.setattr("zemm.torch._module.embedding", None)
    for tensor in (module.weight, module.bias, module.weight.detach(), module.weight.data):
        assert tensor.dtype == torch.float32 != torch.int8
        assert tensor.numel() == np.prod(tensor.size())
        assert tensor.is_contiguous()
        assert not tensor.is_meta
        assert not tensor.requires_grad
        assert isinstance(tensor, torch.Tensor)
    assert len(module.weight) == N


WRITES: dict[str, Callable[[Any], Any]] = {
    "in place": lambda m: m.weight.mul_(2),
    "data": lambda m: m.weight.data.div_(2),
    "new data": lambda m: setattr(m.weight, "data", torch.zeros(N, K)),
    "a view": lambda m: m.weight.data[:2].zero_(),
    "a view of a view": lambda m: m.weight.t()[1:].unsqueeze(0)[0, 3].fill_(1),
    "an initialisation": lambda m: torch.nn.init.normal_(m.weight),
    "out": lambda m: torch.mul(torch.ones(N, K), 2, out=m.weight),
    "bias": lambda m: m.bias.zero_(),
    "another weight": lambda m: setattr(m, "weight", torch.nn.Parameter(torch.zeros(N, K))),
    "another bias": lambda m: setattr(m, "bias", None),
    "weights of another": lambda m: setattr(m, "weight", module_of("u8", seed=2).weight),
}


@pytest.mark.parametrize("write", WRITES)
def test_writes_are_refused(write: str) -> None:
    module, x = module_of("u8"), x_of(2)
    y = module(x)
    with pytest.raises(ValueError, match="packed and cannot be written to: initialise"), torch.no_grad():
        WRITES[write](module)
    assert torch.equal(module(x), y)
    assert torch.equal(module.weight.clone(), torch.from_numpy(table_of(module)))


MEMORY: dict[str, Callable[[Any], Any]] = {
    "address": lambda w: w.data_ptr(),
    "storage": lambda w: w.untyped_storage(),
    "shared memory": lambda w: w.share_memory_(),
    "a layer's x": lambda w: zemm.Linear.from_float(np.ones((K, 8), np.float32))(w),
}


@pytest.mark.parametrize("use", MEMORY)
def test_values_have_no_memory(use: str) -> None:
    with pytest.raises(ValueError, match=r"no memory of their own: clone\(\) gives a plain tensor"):
        MEMORY[use](module_of("u8").weight)


def test_arrays_of_others() -> None:
    module = module_of("u8")
    table = table_of(module)
    for array in (np.asarray(module.weight), np.from_dlpack(module.weight), torch.from_dlpack(module.weight)):
        assert np.array_equal(array, table)
    layer = zemm.Linear.from_quantized(module.weight, transposed=True)
    assert np.array_equal(layer(np.eye(K, dtype=np.float32)).T, table)


def test_one_tensor_until_the_layer_changes() -> None:
    module = module_of("u8")
    weight = module.weight
    assert module.weight is weight
    assert module.half().weight is not weight
    module.float().load_state_dict(module_of("u8", seed=2).state_dict())
    assert torch.equal(weight.clone(), torch.from_numpy(table_of(module_of("u8"))))
    assert torch.equal(module.weight.clone(), torch.from_numpy(table_of(module)))


def test_parameters_and_state_stay() -> None:
    module = module_of("u8")
    assert not list(module.named_parameters())
    assert set(module.state_dict()) == {"config", "values", "scales", "zero_points", "bias"}
    assert "weight" not in dict(module.named_buffers())


def test_empty_modules_have_no_values() -> None:
    with torch.device("meta"):
        meta = zemm.torch.QuantLinear.from_linear(torch.nn.Linear(K, N, dtype=torch.bfloat16))
    for module, dtype in ((zemm.torch.QuantLinear(K, N), torch.float32), (meta, torch.bfloat16)):
        for tensor, shape in ((module.weight, (N, K)), (module.bias, (N,))):
            assert tensor.is_meta
            assert (tensor.dtype, tensor.shape) == (dtype, shape)
        module.load_state_dict(module_of("u8").state_dict())
        assert module.weight.dtype == dtype
        assert torch.equal(module.weight.clone(), torch.from_numpy(table_of(module)).to(dtype))
    assert zemm.torch.QuantLinear(K, N, bias=False).bias is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
@pytest.mark.parametrize("activation", [None, "int8"])
def test_type_of_the_float_layer(dtype: Any, activation: Any) -> None:
    """It stays what it was, whatever the activations are; copies have it."""
    module = zemm.torch.QuantLinear.from_linear(linear().to(dtype), activation=activation, group=GROUP)
    for form in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert form.weight.dtype == form.bias.dtype == dtype
    assert zemm.torch.QuantLinear(module.layer).weight.dtype == {(torch.float16, None): torch.float16}.get(
        (dtype, activation), torch.float32
    )


def test_embeddings() -> None:
    table = torch.nn.Embedding(N, K).requires_grad_(False)
    own = zemm.torch.QuantEmbedding.from_embedding(table, group=GROUP).to(torch.bfloat16)
    head = module_of("u8")
    tied = zemm.torch.QuantEmbedding.of(head, torch.float16)
    ids = torch.arange(N)
    for module, dtype in ((own, torch.bfloat16), (tied, torch.float16)):
        assert isinstance(module, torch.nn.Embedding)
        assert module.weight.dtype == module(ids).dtype == dtype
        assert torch.equal(module.weight.clone(), module(ids))
        assert not list(module.parameters())
    with pytest.raises(ValueError, match="cannot be written to"):
        own.weight = table.weight
    assert tied.table is head


def test_rows_are_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of("u8, f16 dst")
    monkeypatch.setattr("zemm.torch._rows._PIECE", 5 * K)
    assert torch.equal(module.weight.clone(), torch.from_numpy(table_of(module)))


class Reader(torch.nn.Module):  # type: ignore[misc]
    """As models do: one asks for the type alone, one multiplies by weights of its own accord."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.read = module_of("u8"), module_of("u4, int8")

    def forward(self, x: Any) -> Any:
        if isinstance(self.asked.weight, torch.Tensor) and self.asked.weight.dtype != torch.int8:
            x = x.to(self.asked.weight.dtype)
        return self.asked(x) + torch.nn.functional.linear(x, self.read.weight, self.read.bias)


def test_compile_and_export() -> None:
    """The graph is one, and one that asks for the type alone does not dequantise."""
    model, x = Reader().eval(), x_of(3)
    y = model(x)
    assert torch.equal(torch.compile(model, fullgraph=True, backend="aot_eager")(x), y)
    program = torch.export.export(model, (x,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    assert torch.equal(torch.export.load(file).module()(x), y)
    nodes = [str(node.target) for node in program.run_decompositions().graph.nodes]
    assert nodes.count("zemm.embedding.default") == 1


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "attention": (
        lambda: torch.nn.MultiheadAttention(K, 2).out_proj,
        "the MultiheadAttention that has it reads",
    ),
    "quantised": (lambda: module_of("u8"), "this QuantLinear is quantised already"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_from_linear_refuses(kind: str) -> None:
    make, sentence = REFUSED[kind]
    with pytest.raises(ValueError, match=f"linear cannot be replaced: {sentence}"):
        zemm.torch.QuantLinear.from_linear(make())


def test_from_embedding_refuses() -> None:
    class Scaled(torch.nn.Embedding):  # type: ignore[misc]
        def forward(self, ids: Any) -> Any:
            return 2 * super().forward(ids)

    for make in (lambda: Scaled(N, K), lambda: zemm.torch.QuantEmbedding.of(module_of("u8"))):
        with pytest.raises(ValueError, match=r"embedding cannot be replaced: this \w+ (has|is)"):
            zemm.torch.QuantEmbedding.from_embedding(make())


class Block(torch.nn.Module):  # type: ignore[misc]
    """Layers whose weights are looked at, in ways of which some read the values at each call."""

    def __init__(self, slow: bool = False) -> None:
        super().__init__()
        self.slow = slow
        names = ("asked", "read", "helped", "trained", "excluded", "known", "written", "called")
        for name in names:
            setattr(self, name, linear())

    def forward(self, x: Any) -> Any:
        x = x.to(self.asked.weight.dtype)
        y = x @ self.read.weight.t() + self.help(x) + self.called(x)
        if self.training and x is not None:
            y = y + x @ self.trained.weight.t()
        y = y + (x @ self.excluded.weight.t() if self.slow else x @ self.known.weight.t())
        if self.slow is False:
            y = y + 0 * self.known.weight.sum()
        for child in (self,):
            child.written.weight.div_(1)
        return y + self.written(x)

    def help(self, x: Any) -> Any:
        weights = [layer.weight for layer in (self.helped,)]
        return torch.nn.functional.linear(x, self.helped.weight) + 0 * len(weights)

    def unused(self) -> Any:
        return self.called.weight.sum()


@pytest.mark.parametrize("slow", [False, True])
def test_layers_that_a_model_reads(slow: bool) -> None:
    model = torch.nn.Sequential(Block(slow)).eval()
    y = model(x_of(3))
    report = zemm.torch.quantize_(model, group=GROUP)
    notes = {row.name.rpartition(".")[2]: row.note for row in report.skipped}
    assert notes == {
        "read": "Block.forward() reads its weight",
        "helped": "Block.help() reads its weight",
        "excluded" if slow else "known": "Block.forward() reads its weight",
        "written": "Block.forward() writes to its weight",
    }
    assert (model(x_of(3)) - y).abs().max() < 0.02 * y.abs().max()
