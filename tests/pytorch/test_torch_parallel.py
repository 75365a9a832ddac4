# SPDX-License-Identifier: Apache-2.0
"""zemm.torch.parallel: parts of layers, and two processes that have a part each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import support_ranks
import zemm
from support_torch import GROUP, KINDS, K, N, linear, module_of, parts_of, torch, x_of
from torch import distributed as dist
from zemm.torch.parallel import Colwise, Rowwise, parallelize, shard

RANKS = 2
KINDS_OF_PARTS = [kind for kind in KINDS if kind not in ("u8, int8 in one group", "u4 with an odd N")]


def same(a: Any, b: Any) -> None:
    assert a.dtype == b.dtype
    assert torch.equal(a, b), (a - b).abs().max()


@pytest.mark.parametrize("kind", KINDS_OF_PARTS)
def test_columns(kind: str) -> None:
    layer = module_of(kind).layer
    parts = [shard(layer, "N", rank, RANKS) for rank in range(RANKS)]
    assert [part.out_features for part in parts] == [N // RANKS] * RANKS
    for x in (x_of(1), x_of(2, 40)):
        same(torch.cat([part(x) for part in parts], -1), layer(x))


@pytest.mark.parametrize("kind", KINDS_OF_PARTS)
def test_rows(kind: str) -> None:
    """Values and parameters are those of the layer. The bias belongs to the sum."""
    layer = module_of(kind).layer
    parts = [shard(layer, "K", rank, RANKS) for rank in range(RANKS)]
    assert [part.in_features for part in parts] == [K // RANKS] * RANKS
    assert all(part.bias is None and part.dst_dtype == "f32" for part in parts)
    states, whole = [part.state_dict() for part in parts], layer.state_dict()
    for name in whole.keys() - {"bias", "config"}:
        both = [state[name] for state in states]
        grouped = whole[name].ndim == 2 and len(whole[name]) > 1
        np.testing.assert_array_equal(np.concatenate(both) if grouped else both[0], whole[name])
    x = x_of(5)
    y = sum(part(piece) for part, piece in zip(parts, x.chunk(RANKS, -1), strict=True))
    y = y if layer.bias is None else y + torch.from_numpy(layer.bias.astype(np.float32))
    torch.testing.assert_close(y, layer(x).float(), rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("size", [2, 4])
def test_rows_within_a_group_of_factors(size: int) -> None:
    """The parts of a group have its factors each."""
    state = module_of("factors, int8").layer.state_dict()
    values, scales, factors = (state[name] for name in ("values", "scales", "scale_factors"))
    layer = zemm.Linear.from_quantized(
        np.tile(values, (2, 1)), np.tile(scales, (2, 1)), scale_factors=factors[:1], weights_dtype="u4"
    )
    parts, x = [shard(layer, "K", rank, size) for rank in range(size)], torch.cat([x_of(3), -x_of(3)], -1)
    assert all(np.array_equal(part.state_dict()["scale_factors"], factors[:1]) for part in parts)
    y = sum(part(piece) for part, piece in zip(parts, x.chunk(size, -1), strict=True))
    torch.testing.assert_close(y, layer(x), rtol=1e-4, atol=1e-3)
    longer = zemm.Linear.from_quantized(
        np.tile(values, (2, 1)), np.tile(scales, (2, 1)), scale_factors=factors, weights_dtype="u4"
    )
    cut = [shard(longer, "K", rank, 4).state_dict()["scale_factors"] for rank in range(4)]
    np.testing.assert_array_equal(np.concatenate(cut), np.repeat(factors, 2, 0))


def test_odd_parts_of_four_bits() -> None:
    """Codes share bytes along K where N is odd, before the cut or after it."""
    odd = module_of("u4 with an odd N").layer
    for rank in range(RANKS):
        part = shard(odd, "K", rank, RANKS)
        half = slice(rank * K // 2, (rank + 1) * K // 2)
        np.testing.assert_array_equal(codes(part, 48 + 1), codes(odd, 49)[half])
    even = zemm.torch.QuantLinear.from_linear(linear(), bits=4, group=GROUP).layer
    parts = [shard(even, "N", rank, 16) for rank in range(16)]  # of 3 columns
    np.testing.assert_array_equal(np.concatenate([codes(p, 3) for p in parts], 1), codes(even, N))


def codes(layer: zemm.Linear, n: int) -> np.ndarray:
    """Values of 4 bits, [K, n]."""
    values = layer.state_dict()["values"]
    if n % 2:
        return zemm.unpack_int4(values.T, values.size * 2, signed=False).reshape(n, -1).T
    return zemm.unpack_int4(values, values.size * 2, signed=False).reshape(-1, n)


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        ("u8", ("K", 0, 8), "the group of scales, 16, does not divide the 8 rows of a part"),
        ("u8, int8 in one group", ("K", 0, 2), "activation_group, 64, does not divide the 32 rows"),
        ("u8", ("N", 0, 7), r"have 48 columns, which 7 does not divide"),
        ("u8", ("M", 0, 2), "along is 'M', none of: N, K"),
        ("u8", ("N", 2, 2), r"rank is 2, which is not in 0\.\.1"),
        ("u8", ("N", 0, 0), "size is 0"),
    ],
)
def test_refusals(kind: str, arguments: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        shard(module_of(kind).layer, *arguments)


# ---- two processes


WIDTH, HIDDEN = 128, 512


class Block(torch.nn.Module):
    """As in a transformer: the activation of a part is the part of the activation."""

    def __init__(self) -> None:
        super().__init__()
        up, down = torch.nn.Linear(WIDTH, HIDDEN), torch.nn.Linear(HIDDEN, WIDTH)
        self.up, self.down = (
            zemm.torch.QuantLinear.from_linear(plain, bits=bits, group=32, activation="int8")
            for plain, bits in ((up, 4), (down, 8))
        )

    def forward(self, x: Any) -> Any:
        return self.down(torch.nn.functional.silu(self.up(x)))


def model_of() -> Any:
    torch.manual_seed(3)
    return torch.nn.Sequential(Block(), Block())


def bytes_of(model: Any) -> int:
    """What the engine multiplies with: weights, scales, zero points."""
    modules = [module for block in model for module in (block.up, block.down)]
    return sum(buffer.nbytes for module in modules for buffer in parts_of(module)[1:4])


def expected_of(block: Block, x: Any) -> Any:
    """The two parts of down one after the other, and their sum."""
    h = torch.nn.functional.silu(block.up(x)).chunk(RANKS, -1)
    parts = [shard(block.down.layer, "K", rank, RANKS)(h[rank]) for rank in range(RANKS)]
    return (parts[0] + parts[1] + torch.from_numpy(block.down.layer.bias)).to(x.dtype)


def check_model(mesh: Any, apply: Callable[[Any], None]) -> None:
    """Bit by bit what one process computes of the same parts, in half of the memory."""
    whole, model = model_of(), model_of()
    apply(model)
    assert bytes_of(model) * RANKS == bytes_of(whole)
    for shape, dtype in (((1,), torch.float32), ((3, 20), torch.float32), ((4,), torch.bfloat16)):
        x = torch.randn(*shape, WIDTH).to(dtype)
        dist.broadcast(x, 0)
        expected = x
        for block in whole:
            expected = expected_of(block, expected)
        same(model(x), expected)
        torch.testing.assert_close(model(x), whole(x), rtol=2e-2, atol=2e-2)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        same(compiled(x), model(x))


def by_torch(mesh: Any) -> None:
    from torch.distributed.tensor.parallel import parallelize_module

    plan = {"*.up": Colwise(), "*.down": Rowwise()}
    check_model(mesh, lambda model: parallelize_module(model, mesh, plan))


def by_plan(mesh: Any) -> None:
    plan = {"*.up": "colwise", "*.down": "rowwise", "embed": "embedding_rowwise"}

    def apply(model: Any) -> None:
        cut = parallelize(model, mesh, plan)
        assert cut == {f"{i}.{name}": plan[f"*.{name}"] for i in range(2) for name in ("up", "down")}

    check_model(mesh, apply)


def whole_tensors(mesh: Any) -> None:
    """Modules that take all of x and give all of y."""
    for style, along in ((Colwise(gather=True), "N"), (Rowwise(split=True), "K")):
        module, layer = module_of("u4, int8"), module_of("u4, int8").layer
        style._apply(module, mesh)
        x = x_of(6)
        parts = [shard(layer, along, rank, RANKS) for rank in range(RANKS)]  # type: ignore[arg-type]
        if along == "N":
            same(module(x), layer(x))
        else:
            y = parts[0](x[:, : K // 2]) + parts[1](x[:, K // 2 :])
            same(module(x), y + torch.from_numpy(layer.bias))


def refused(mesh: Any) -> None:
    """Before anything is cut."""
    model = torch.nn.Sequential(module_of("u8"), module_of("u8, int8 in one group"))
    before = [module.layer for module in model]
    with pytest.raises(ValueError, match=r"^1: activation_group, 64, does not divide"):
        parallelize(model, mesh, {"*": "rowwise"})
    assert [module.layer for module in model] == before
    with pytest.raises(ValueError, match="Sequential has no tp_plan"):
        parallelize(model, mesh)
    with pytest.raises(ValueError, match=r"module is a Linear, not a zemm\.torch\.QuantLinear"):
        Colwise()._apply(torch.nn.Linear(2, 2), mesh)


CASES = {case.__name__: case for case in (by_torch, by_plan, whole_tensors, refused)}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What two processes print that run all cases."""
    return support_ranks.outputs(__file__, tmp_path_factory.mktemp("parallel"), RANKS)


@pytest.mark.xdist_group("torch_parallel")
@pytest.mark.parametrize("case", CASES)
def test_two_processes(outputs: list[str], case: str) -> None:
    for output in outputs:
        assert f"{case}: ok" in output.splitlines(), output


def main() -> None:
    dist.init_process_group("gloo")
    mesh = dist.device_mesh.init_device_mesh("cpu", (RANKS,))
    for name, case in CASES.items():
        case(mesh)
        print(f"{name}: ok", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
