# SPDX-License-Identifier: Apache-2.0
"""Calls of zemm.torch without Python (zemm.torch._calls): when the extension takes them, that they give the
same bits as those in Python, and that nothing outlives its layer."""

import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest
import zemm
from support_torch import KINDS, K, N, module_of, parts_of, torch, x_of
from torch.multiprocessing.reductions import StorageWeakRef
from zemm.torch import _calls

OPERATOR = torch.ops.zemm.linear.default
MODES = {"no_grad": torch.no_grad, "inference": torch.inference_mode}
pytestmark = pytest.mark.skipif(not _calls.NUMBERS, reason="this torch is older than the interface")


def by_operator(module: Any, x: Any, parts: Any = None) -> Any:
    parts = parts_of(module) if parts is None else parts
    return OPERATOR(x, parts, K, module.out_features, module._dtype)


class Counted:
    """Counts the calls of layers in Python."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number, original = 0, zemm.Linear.__call__

        def call(layer: Any, *args: Any, **more: Any) -> Any:
            self.number += 1
            return original(layer, *args, **more)

        monkeypatch.setattr(zemm.Linear, "__call__", call)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_second_call_needs_no_python(kind: str, mode: str, counted: Counted) -> None:
    module = module_of(kind)
    dtype = torch.bfloat16 if kind == "s4, bf16" else torch.float32
    with MODES[mode]():
        for shape in ((1,), (5,), (2, 3, 4), ()):
            x = x_of(*shape, dtype=dtype)
            expected = module.layer(x)
            for call in (module, lambda x: by_operator(module, x)):
                call(x)
                before = counted.number
                y = call(x)
                assert counted.number == before
                assert torch.equal(y, expected)
                assert (y.shape, y.dtype, y.stride()) == (expected.shape, expected.dtype, expected.stride())
                assert (y.device, y.is_inference()) == (expected.device, mode == "inference")


def test_modules_with_gradients_on(counted: Counted) -> None:
    """As a program calls a module that does not care: only an x that asks for a gradient is refused."""
    module, x = module_of("u8"), x_of(3)
    module(x)
    before = counted.number
    assert torch.equal(module(x), by_operator(module, x))
    assert counted.number == before
    with pytest.raises(zemm.InvalidArgumentsError, match="x requires a gradient"):
        module(x.requires_grad_())


OTHERS = {
    "strided": lambda x: x.repeat(1, 2)[:, ::2],
    "transposed": lambda x: x.T.contiguous().T,
    "no rows": lambda x: x[:0],
    "f64": lambda x: x.double(),
    "f16": lambda x: x.half(),
    "negative": lambda x: torch.complex(x, -x).conj().imag,
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
}


@pytest.mark.parametrize("other", OTHERS)
def test_every_x_has_its_result(other: str) -> None:
    module = module_of("u8")
    x = OTHERS[other](x_of(3))
    with torch.no_grad():
        module(x_of(3)), by_operator(module, x_of(3))
        for call in (module, module, lambda x: by_operator(module, x)):
            y = call(x)
            assert y.dtype == x.dtype
            assert torch.equal(y, module.layer(x).to(x.dtype))


@pytest.mark.parametrize("mode", MODES)
def test_refusals_are_those_of_python(mode: str) -> None:
    """With their class and sentence, though they come through torch's dispatcher."""
    module, x = module_of("u8"), x_of(3)
    parts = parts_of(module)
    for number in range(1, 5):
        assert parts[number].dtype == torch.uint8
    damaged = [parts[0][:9].clone(), *parts[1:]]
    other_type = [parts[0], parts[1].view(torch.int8), *parts[2:]]
    strided = [parts[0], parts[1].repeat_interleave(2)[::2], *parts[2:]]
    with MODES[mode]():
        by_operator(module, x)
        for bad, sentence in (
            ((x[:, :5], parts, K, N), r"x has shape \(3, 5\)"),
            ((x, parts[:3], K, N), "a layer has 5 or 7 parts, not 3"),
            ((x, damaged, K, N), "the parts of a layer are damaged"),
            ((x, other_type, K, N), "not dense bytes on the host"),
            ((x, strided, K, N), "not dense bytes on the host"),
            ((x, parts, K, N + 1), "not .* as the operator was told"),
            ((x.int(), parts, K, N), "x has type torch.int32"),
        ):
            with pytest.raises(zemm.InvalidArgumentsError, match=sentence):
                OPERATOR(*bad, None)
        assert OPERATOR(x, parts, K, N, torch.int32).dtype == torch.int32


def test_another_layer_in_the_same_places() -> None:
    """The layer is what its tensors say at each call."""
    module, other, x = module_of("u8", seed=1), module_of("u8", seed=2), x_of(2)
    expected = [module.layer(x), other.layer(x)]
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(module(x), expected[0])
            assert torch.equal(by_operator(module, x), expected[0])
        for name, part in other.named_buffers():
            setattr(module, name, part)
        for _ in range(2):
            assert torch.equal(module(x), expected[1])
        parts = [part.clone() for part in parts_of(other)]
        for _ in range(2):
            assert torch.equal(by_operator(module, x, parts), expected[1])
        config = bytes(parts[0].numpy()).replace(b'"activation": "f32"', b'"activation": "f16"')
        parts[0] = torch.frombuffer(bytearray(config), dtype=torch.uint8)
        y = by_operator(module, x, parts)
        assert not torch.equal(y, expected[1])
        torch.testing.assert_close(y, expected[1], rtol=0.01, atol=0.05)


@pytest.mark.parametrize("mode", [*MODES, "grad"])
def test_nothing_is_kept(mode: str) -> None:
    module, x = module_of("u8"), x_of(3)
    with MODES.get(mode, torch.enable_grad)():
        parts = [part.clone() for part in parts_of(module)]
        storages = [StorageWeakRef(tensor.untyped_storage()) for tensor in (x, *parts)]
        for _ in range(3):
            storages.append(StorageWeakRef(by_operator(module, x, parts).untyped_storage()))
            storages.append(StorageWeakRef(module(x).untyped_storage()))
    layer = weakref.ref(module.layer)
    storages += [StorageWeakRef(part.untyped_storage()) for part in parts_of(module)]
    del x, parts, module
    gc.collect()
    assert layer() is None
    assert all(storage.expired() for storage in storages)


def test_parts_outlive_their_module(counted: Counted) -> None:
    module, x = module_of("u4, int8"), x_of(3)
    with torch.no_grad():
        y = by_operator(module, x)
        parts, out_features = parts_of(module), module.out_features
        del module
        gc.collect()
        before = counted.number
        assert torch.equal(OPERATOR(x, parts, K, out_features, None), y)
        assert counted.number == before + 1
        assert torch.equal(OPERATOR(x, parts, K, out_features, None), y)
        assert counted.number == before + 1


def test_threads_while_modules_come_and_go() -> None:
    module, x = module_of("u4, int8"), x_of(4)
    expected, wrong = module.layer(x), []
    done = threading.Event()

    @torch.inference_mode()
    def work() -> None:
        while not done.is_set():
            if not (torch.equal(by_operator(module, x), expected) and torch.equal(module(x), expected)):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    with torch.no_grad():
        for seed in range(40):
            other = module_of("u8", seed)
            assert torch.equal(other(x), by_operator(other, x))
            del other
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


FORK = """
import os, signal, threading
import torch, zemm.torch
module = zemm.torch.QuantLinear.from_linear(torch.nn.Linear(64, 48), bits=8, group=16)
x, parts = torch.randn(2, 64), list(module.buffers())
def both():
    return module(x), torch.ops.zemm.linear.default(x, parts, 64, 48, None)
@torch.no_grad()
def work():
    while True:
        both()
with torch.no_grad():
    y, _ = both()
    threading.Thread(target=work, daemon=True).start()
    for _ in range(5):
        child = os.fork()
        if not child:
            signal.alarm(60)
            os._exit(not all(torch.equal(y, again) for _ in range(3) for again in both()))
        if os.waitpid(child, 0)[1]:
            os._exit(1)
os._exit(0)
"""


def test_child_of_fork() -> None:
    assert subprocess.run([sys.executable, "-c", FORK], timeout=240, check=False).returncode == 0


# An older torch lacks a function of Python, or one of C.
OLDER = {
    "python": "del torch._C._aoti.unsafe_alloc_void_ptr_from_tensor",
    "c": "import zemm._torch_calls; zemm._torch_calls.register = lambda *args: 'torch_list_size'",
}


@pytest.mark.parametrize("lack", OLDER)
def test_older_torch(lack: str) -> None:
    program = f"""
import torch
{OLDER[lack]}
import zemm.torch, zemm.torch._calls
assert not zemm.torch._calls.NUMBERS
module = zemm.torch.QuantLinear.from_linear(torch.nn.Linear(64, 48), bits=8, group=16)
x = torch.randn(2, 64)
y = torch.ops.zemm.linear.default(x, list(module.buffers()), 64, 48, None)
assert torch.equal(module(x), y) and torch.equal(module(x), y)
assert torch.equal(torch.compile(module, fullgraph=True, backend="aot_eager")(x), y)
try:
    torch.func.jvp(module, (x,), (x,))
except zemm.InvalidArgumentsError:
    pass
else:
    raise AssertionError
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.full  # the C++ compiler makes the graph, with torch's headers
@pytest.mark.parametrize("cpp_wrapper", [False, True])
def test_compiled_graph_needs_no_python(cpp_wrapper: bool, counted: Counted) -> None:
    torch._dynamo.reset()
    model = torch.nn.Sequential(module_of("u8"), torch.nn.ReLU(), torch.nn.Linear(N, K), module_of("u8"))
    x = x_of(2)
    with torch.no_grad(), torch._inductor.config.patch(cpp_wrapper=cpp_wrapper):
        compiled = torch.compile(model, fullgraph=True)
        y = model(x)
        torch.testing.assert_close(compiled(x), y)
        before = counted.number
        torch.testing.assert_close(compiled(x), y)
        assert counted.number == before
