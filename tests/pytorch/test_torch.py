# SPDX-License-Identifier: Apache-2.0
"""Layers with tensors of torch, and zemm.torch.QuantLinear."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm

torch = pytest.importorskip("torch", reason="needs the package torch")

import zemm.torch  # noqa: E402 (after the check for torch)
from torch.autograd import forward_ad  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

K, N, GROUP = 64, 48, 32
TYPES = [torch.float32, torch.bfloat16, torch.float16]


def linear(dtype: Any, bias: bool = True) -> Any:
    torch.manual_seed(1)
    return torch.nn.Linear(K, N, bias=bias).to(dtype)


def x_of(dtype: Any, *leading: int) -> Any:
    return torch.randn(*leading, K, generator=torch.Generator().manual_seed(2)).to(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_layer_takes_tensors(engine: zemm.Engine, dtype: Any) -> None:
    weight = linear(dtype).weight.detach()
    layer = zemm.Linear.from_float(weight, transposed=True, group=GROUP, engine=engine)
    array = layer(x_of(torch.float32, 5).numpy())
    got = layer(x_of(torch.float32, 5))
    assert isinstance(got, torch.Tensor)
    assert np.array_equal(got.numpy(), array)
    assert layer(x_of(dtype, 2, 5)).dtype == dtype
    x = x_of(torch.float32, 10)
    for view in (x[::2], x.T.contiguous().T, x[3:4].expand(6, K), -x):
        assert np.allclose(layer(view).numpy(), layer(view.numpy().copy()), rtol=0, atol=1e-5)
    out = torch.empty(N, 5).T
    assert layer(x_of(torch.float32, 5), out) is out
    assert np.array_equal(out.numpy(), array)
    stream = zemm.Stream(engine)
    results = [layer(x_of(torch.float32, 5) * i, stream=stream) for i in range(20)]
    stream.wait()
    for i, result in enumerate(results):
        assert np.allclose(result.numpy(), array * i, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (lambda: x_of(torch.float32, 2).requires_grad_(), "requires a gradient"),
        (lambda: x_of(torch.float32, 2).to("meta"), "device meta"),
        (lambda: x_of(torch.float32, 2).to_sparse(), "layout"),
        (lambda: x_of(torch.float32, 2).to(torch.complex64), "complex64"),
        (lambda: x_of(torch.float32, 2).int(), "x has type s32"),
    ],
)
def test_tensors_that_are_refused(engine: zemm.Engine, x: Any, sentence: str) -> None:
    layer = zemm.Linear.from_float(np.ones((K, N), np.float32), group=GROUP, engine=engine)
    with pytest.raises(ValueError, match=sentence):
        layer(x())
    with pytest.raises(ValueError, match="out is a ndarray"):
        layer(x_of(torch.float32, 2), np.empty((2, N), np.float32))


def test_module_refusals(engine: zemm.Engine) -> None:
    with pytest.raises(ValueError, match="linear is a Conv1d"):
        zemm.torch.QuantLinear.from_linear(torch.nn.Conv1d(1, 1, 1))
    experts = zemm.Linear.from_float(np.ones((2, K, N), np.float32), group=GROUP, engine=engine)
    with pytest.raises(ValueError, match="experts"):
        zemm.torch.QuantLinear(experts)


def test_tangents_are_refused(engine: zemm.Engine) -> None:
    """By layers and by zemm.matmul(), whose results have none."""
    layer = zemm.Linear.from_float(np.ones((K, N), np.float32), group=GROUP, engine=engine)
    x = x_of(torch.float32, 2)
    calls = [
        layer,
        lambda x: layer(x_of(torch.float32, 2), x),
        lambda x: zemm.matmul(x, np.ones((K, N), np.float32)),
    ]
    with forward_ad.dual_level():
        for call in calls:
            with pytest.raises(ValueError, match=r"(x|src|out) has a tangent"):
                call(forward_ad.make_dual(x, x))
        assert torch.equal(layer(x), layer(forward_ad.unpack_dual(x).primal))


@pytest.mark.parametrize(
    "call",
    [
        lambda layer, x: torch.func.vmap(layer)(x),
        lambda layer, x: torch.func.functionalize(layer)(x),
        lambda layer, x: make_fx(layer, tracing_mode="fake", _allow_non_fake_inputs=True)(x),
    ],
)
@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_tensors_without_bytes_are_refused(engine: zemm.Engine, call: Any) -> None:
    """torch gives such tensors to a function that it traces. A module has an operator for that."""
    layer = zemm.Linear.from_float(np.ones((K, N), np.float32), group=GROUP, engine=engine)
    with pytest.raises(ValueError, match="QuantLinear is for programs that do this"):
        call(layer, x_of(torch.float32, 2))
    call(zemm.torch.QuantLinear(layer), x_of(torch.float32, 2))


def test_default_device(engine: zemm.Engine) -> None:
    """Where torch makes tensors by default is nothing to a layer."""
    plain, x = linear(torch.float32, bias=False), x_of(torch.float32, 2)
    expected = zemm.torch.QuantLinear.from_linear(plain, group=GROUP, engine=engine)(x)
    with torch.device("meta"):
        module = zemm.torch.QuantLinear.from_linear(plain, group=GROUP, engine=engine)
        assert torch.equal(module(x), expected)
        assert torch.equal(copy.deepcopy(module)(x), expected)


def test_gguf_tensors_give_tensors(tmp_path: Path) -> None:
    """Of the type that an array would get, also into a tensor with strides."""
    pytest.importorskip("gguf")
    from support_gguf import usual_blocks, write

    rows = usual_blocks("Q4_1", (N, K), np.random.default_rng(3))
    w = zemm.gguf.load(write(tmp_path / "w.gguf", {"w": ("Q4_1", rows)}))["w"]
    x = x_of(torch.float32, 5)
    expected = w.matmul(x.numpy())
    y = w.matmul(x)
    assert isinstance(y, torch.Tensor)
    assert np.array_equal(y.numpy(), expected)
    assert w.matmul(x.bfloat16(), dst_dtype="bf16").dtype == torch.bfloat16
    for out in (torch.empty(5, N), torch.empty(N, 5).T):
        assert w.matmul(x, out=out) is out
        assert np.array_equal(out.numpy(), expected)
    with pytest.raises(ValueError, match="out is a ndarray"):
        w.matmul(x, out=np.empty((5, N), np.float32))
    with pytest.raises(ValueError, match="requires a gradient"):
        w.matmul(x.requires_grad_())
