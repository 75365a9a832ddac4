# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.QuantEmbedding: its rows are those of the dequantised table, of each kind of layer."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import zemm
from support_torch import GROUP, KINDS, K, N, linear, module_of, table_of, torch

IDS = torch.tensor([[0, 5, N - 1], [7, 5, 1]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_head(kind: str, dtype: Any) -> None:
    head = module_of(kind)
    embedding = zemm.torch.QuantEmbedding.of(head, dtype)
    rows = embedding(IDS)
    assert (rows.dtype, rows.shape) == (dtype, (2, 3, K))
    assert torch.equal(rows, torch.from_numpy(table_of(head)[IDS.numpy()]).to(dtype))
    assert embedding(IDS[:0]).shape == (0, 3, K)
    assert embedding(IDS[0, 1].int()).shape == (K,)
    assert dict(embedding.state_dict()) == {}


@pytest.mark.parametrize("bits", [4, 8])
def test_own_table(bits: int) -> None:
    plain = torch.nn.Embedding(N, K).requires_grad_(False)
    made = zemm.torch.QuantEmbedding.from_embedding(plain, bits=bits, group=GROUP)
    step = np.ptp(plain.weight.numpy()) / (2**bits - 1)
    assert (made(IDS) - plain(IDS)).abs().max() <= step
    other = zemm.torch.QuantEmbedding(N, K)
    assert str(other.load_state_dict(made.state_dict())) == "<All keys matched successfully>"
    for copied in (other, copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert torch.equal(copied(IDS), made(IDS))


class Tied(torch.nn.Module):  # type: ignore[misc]
    """Ids become rows, and these scores of all ids by the same table."""

    def __init__(self, head: Any) -> None:
        super().__init__()
        self.head = head
        self.embedding = zemm.torch.QuantEmbedding.of(head)

    def forward(self, ids: Any) -> Any:
        return self.head(self.embedding(ids))


FORMS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
}


@pytest.mark.parametrize("form", FORMS)
def test_tied_copies_stay_tied(form: str) -> None:
    model = Tied(module_of("u8"))
    scores = model(IDS)
    made = FORMS[form](model)
    assert torch.equal(made(IDS), scores)
    assert made.embedding.table is made.head
    other = Tied(module_of("u4, int8", seed=3))
    assert str(made.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(made(IDS), other(IDS))
    assert torch.equal(model(IDS), scores)


def test_compiled_and_exported() -> None:
    model = Tied(module_of("u4, int8"))
    scores = model(IDS)
    compiled = torch.compile(model, fullgraph=True, dynamic=True, backend="aot_eager")
    assert torch.equal(compiled(IDS), scores)
    assert torch.equal(compiled(IDS[:1]), model(IDS[:1]))
    rows = torch.export.Dim("rows", min=1, max=64)
    program = torch.export.export(model, (IDS,), dynamic_shapes={"ids": {0: rows}})
    assert torch.equal(program.module()(IDS), scores)
    assert torch.equal(program.module()(IDS[:1]), model(IDS[:1]))
    weights = [name for name, tensor in program.state_dict.items() if tensor.nbytes > 1000]
    weights += [name for name, tensor in program.constants.items() if tensor.nbytes > 1000]
    assert len(weights) == len(set(weights)) <= 2, "the table is in the program once"
    assert torch.equal(torch.func.vmap(model.embedding)(IDS), model.embedding(IDS))


@pytest.mark.parametrize(
    ("ids", "error", "sentence"),
    [
        (torch.tensor([N]), IndexError, f"index {N} is not in 0..{N - 1}"),
        (torch.tensor([3, -1]), IndexError, "index -1 is not in"),
        (torch.tensor([1.0]), ValueError, "ids have type torch.float32"),
    ],
)
def test_indices_that_are_refused(ids: Any, error: type[Exception], sentence: str) -> None:
    embedding = zemm.torch.QuantEmbedding.of(module_of("u8"))
    with pytest.raises(error, match=sentence):
        embedding(ids)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="head is a Linear"):
        zemm.torch.QuantEmbedding.of(linear())
    with pytest.raises(ValueError, match="embedding is a Linear"):
        zemm.torch.QuantEmbedding.from_embedding(linear())
    with pytest.raises(ValueError, match="max_norm"):
        zemm.torch.QuantEmbedding.from_embedding(torch.nn.Embedding(4, 4, max_norm=1.0))
    with pytest.raises(ValueError, match=r"of 64 to 48 features is empty: load weights"):
        zemm.torch.QuantEmbedding(N, K)(IDS)
