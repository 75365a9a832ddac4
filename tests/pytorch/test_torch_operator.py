# SPDX-License-Identifier: Apache-2.0
"""The operator of zemm.torch: one answer or one refusal in eager mode and compiled, under the
transforms of torch.func, and for tensors of any type and layout."""

from collections.abc import Callable
from typing import Any

import pytest
from support_torch import KINDS, K, N, module_of, parts_of, torch, x_of
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

OPERATOR = torch.ops.zemm.linear.default
BACKENDS = ["eager", "aot_eager", "inductor"]
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
OTHERS = [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn]


@pytest.mark.parametrize("kind", KINDS)
def test_opcheck(kind: str) -> None:
    module = module_of(kind)
    for x in (x_of(2), x_of(2, 3, dtype=torch.float64)):
        args = (x, parts_of(module), K, module.out_features, module._dtype)
        assert set(torch.library.opcheck(OPERATOR, args).values()) == {"SUCCESS"}


@pytest.fixture
def compiled() -> dict[str, Any]:
    """A module as it is, and compiled by each backend."""
    torch._dynamo.reset()
    module = module_of("u8")
    made = {backend: torch.compile(module, fullgraph=True, backend=backend) for backend in BACKENDS}
    return {"no compiler": module, **made}


@pytest.mark.parametrize("backend", [*BACKENDS[:2], pytest.param("inductor", marks=pytest.mark.full)])
def test_modes_agree(backend: str) -> None:
    """Of all types at once, as inductor has the C++ compiler make a kernel for each graph. abs() is
    in that kernel, which reads y as the type that shape propagation said."""
    torch._dynamo.reset()
    module = module_of("u8")

    def model(*inputs: Any) -> list[Any]:
        return [module(x).abs() for x in inputs]

    inputs = [x_of(3, dtype=dtype) for dtype in FLOATS]
    with torch.compiler.config.patch(force_disable_caches=True):
        results = torch.compile(model, fullgraph=True, backend=backend)(*inputs)
    for x, got, eager in zip(inputs, results, model(*inputs), strict=True):
        assert torch.equal(eager, module.layer(x).to(x.dtype).abs())
        assert (got.dtype, got.stride()) == (x.dtype, (N, 1))
        assert torch.equal(got, eager)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        *((lambda x, dtype=dtype: x.to(dtype), f"x has type {dtype}, not one of") for dtype in OTHERS),
        (lambda x: x[:, :5], r"x has shape \(3, 5\), the layer takes"),
    ],
)
def test_modes_refuse(compiled: dict[str, Any], change: Any, sentence: str) -> None:
    for call in compiled.values():
        with pytest.raises((ValueError, RuntimeError), match=sentence):
            call(change(x_of(3)))


def test_modes_refuse_gradients(compiled: dict[str, Any]) -> None:
    for call in compiled.values():
        x = x_of(3).requires_grad_()
        with pytest.raises((ValueError, RuntimeError), match="x requires a gradient"):
            call(x)
        with torch.no_grad():
            assert call(x).shape == (3, N)


def with_tangent(module: Any, x: Any) -> Any:
    with forward_ad.dual_level():
        return module(forward_ad.make_dual(x, x))


def with_tangent_but_no_grad(module: Any, x: Any) -> Any:
    with torch.no_grad():
        return with_tangent(module, x)


DERIVATIVES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "dual": (with_tangent, "tangent"),
    "dual, no_grad": (with_tangent_but_no_grad, "tangent"),
    "jvp": (lambda module, x: torch.func.jvp(module, (x,), (x,)), "tangent"),
    "vmap of jvp": (lambda module, x: torch.vmap(lambda a: torch.func.jvp(module, (a,), (a,)))(x), "tangent"),
    "grad": (lambda module, x: torch.func.grad(lambda a: module(a).sum())(x), "gradient"),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_refused(name: str) -> None:
    derivative, what = DERIVATIVES[name]
    with pytest.raises(ValueError, match=f"x (has|requires) a {what}"):
        derivative(module_of("u8"), x_of(2))


def test_vmap() -> None:
    module, x = module_of("u4, int8"), x_of(2, 3, 5)
    y = module(x)
    assert torch.equal(torch.func.vmap(module)(x), y)
    assert torch.equal(torch.func.vmap(torch.func.vmap(module))(x), y)
    assert torch.equal(torch.func.vmap(module, in_dims=1, out_dims=1)(x), y)
    parts = [torch.stack([part, part]) for part in parts_of(module)]
    with pytest.raises(ValueError, match="let it go over x alone"):
        torch.func.vmap(lambda *parts: OPERATOR(x, list(parts), K, N, None))(*parts)


class Seen(TorchDispatchMode):
    """Notes the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class SeenFunctions(torch.overrides.TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_whoever_looks_for_the_operator_sees_it() -> None:
    """An ordinary call of a module goes past torch's dispatcher, but not past those who look there."""
    module, x = module_of("u8"), x_of(2)
    y = module(x)
    with Seen() as seen:
        assert torch.equal(module(x), y)
    with SeenFunctions() as functions:
        assert torch.equal(module(x), y)
    assert [name for name in seen.names + functions.names if "zemm" in name] == ["zemm.linear.default"] * 2
    with torch.profiler.profile() as profile:
        module(x)
    assert "zemm::linear" in {event.key for event in profile.key_averages()}
    graph = make_fx(module)(x)
    assert "torch.ops.zemm.linear.default" in graph.code
    assert torch.equal(graph(x), y)

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return "mine" if "zemm" in str(func) else super().__torch_function__(func, types, args, kwargs)

    assert module(x.as_subclass(Mine)) == "mine"


def test_buffers_in_place_of_a_module_s_own() -> None:
    """As torch.func.functional_call puts them there."""
    module, other, x = module_of("u8"), module_of("u8", seed=7), x_of(2)
    expected, of_other = module(x), other(x)
    names = [name for name, _ in module.named_buffers()]
    assert torch.equal(torch.func.functional_call(module, dict(other.named_buffers()), x), of_other)
    assert torch.equal(module(x), expected)
    for name in names:
        setattr(module, name, getattr(other, name))
    assert torch.equal(module(x), of_other)


def test_the_same_tensors_with_other_bytes() -> None:
    """The operator knows its layers by the tensor objects, and sees what has changed in them."""
    modules = [module_of("u8", seed) for seed in (1, 7)] + [module_of("u4, int8", 3)]
    x = x_of(2)
    parts, *others = ([part.clone() for part in parts_of(module)] for module in modules)
    for new, module in zip(others, modules[1:], strict=True):
        for _ in range(2):
            OPERATOR(x, parts, K, N, None)
        if len(new[0]) == len(parts[0]):
            for part, values in zip(parts, new, strict=True):
                part.copy_(values)
        else:
            for part, values in zip(parts, new, strict=True):
                part.data = values
        for _ in range(2):
            assert torch.equal(OPERATOR(x, parts, K, N, None), module(x))


def channels_last(x: Any) -> Any:
    return x.contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    "x",
    [
        x_of(6)[::2],
        x_of(5).T.contiguous().T,
        x_of(1).expand(4, K),
        channels_last(x_of(2, 3, 4)),
        torch.complex(x_of(3), x_of(3)).conj().imag,
        x_of(),
        x_of(0),
        x_of(2, 0, 3),
        torch.nn.Parameter(x_of(3), requires_grad=False),
    ],
    ids=[
        "rows",
        "columns",
        "expanded",
        "channels last",
        "negative bit",
        "vector",
        "no rows",
        "no rows inside",
        "parameter",
    ],
)
def test_layouts(x: Any) -> None:
    """y is row-major, as shape propagation says, and has the values of a dense x."""
    module = module_of("u8")
    args = (parts_of(module), K, N, None)
    y = module(x)
    assert torch.equal(y, module.layer(x.detach().clone(memory_format=torch.contiguous_format).resolve_neg()))
    assert y.is_contiguous()
    said = OPERATOR(x.detach().to("meta"), *args)
    assert (said.shape, said.stride(), said.dtype) == (y.shape, y.stride(), y.dtype)


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (lambda: x_of(2).to_sparse(), "x has the layout torch.sparse_coo"),
        (lambda: x_of(2).to_mkldnn(), "x has the layout torch._mkldnn"),
        (lambda: torch.tensor(1.0), r"x has shape \(\)"),
    ],
)
def test_tensors_that_are_refused(x: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        module_of("u8")(x())


def test_autocast_changes_nothing() -> None:
    module, x = module_of("u8"), x_of(2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module(x), module.layer(x))


def test_arguments_that_do_not_fit_the_layer() -> None:
    module, x = module_of("u8"), x_of(2)
    config, weights, *others = parts_of(module)
    for parts, sentence in [
        ([config, weights], "a layer has 5 or 7 parts, not 2"),
        ([config, weights.float(), *others], r"the part weights of a layer is torch.float32"),
        ([config, weights[1:], *others], "the parts of a layer are damaged: .*weights have 4095 bytes"),
        ([config[1:], weights, *others], "the parts of a layer are damaged"),
        ([config, weights, others[0][4:], *others[1:]], "the parts of a layer are damaged"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            OPERATOR(x, parts, K, N, None)
    with pytest.raises(ValueError, match=rf"the layer gives \(2, {N}\), not \(2, 5\)"):
        OPERATOR(x, parts_of(module), K, 5, None)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile_keeps_the_graph(backend: str) -> None:
    modules = [module_of("u8", seed) for seed in range(10)]
    modules[-1].load_state_dict(module_of("no bias").state_dict())
    x = x_of(3)
    torch._dynamo.reset()
    model = torch.nn.Sequential(modules[0], torch.nn.ReLU())
    assert torch.equal(torch.compile(model, fullgraph=True, backend=backend)(x), model(x))
    # More modules than torch.compile makes versions of one function: they must share one.
    for module in modules:
        assert torch.equal(torch.compile(module, fullgraph=True, backend=backend)(x), module(x))
