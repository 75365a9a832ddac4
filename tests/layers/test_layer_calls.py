# SPDX-License-Identifier: Apache-2.0
"""What calls of a layer check, and what they do on the way to the kernels."""

from typing import Any

import numpy as np
import pytest
import zemm

RNG = np.random.default_rng(5)
K, N, GROUP, E = 64, 48, 32, 3
W = RNG.standard_normal((E, K, N)).astype(np.float32)
X = RNG.standard_normal((E, 5, K)).astype(np.float32)


def test_what_an_earlier_call_has_checked_does_not_excuse_a_later_one(engine: zemm.Engine) -> None:
    """Calls of one shape and type are checked once, except for what may differ between them."""
    layer = zemm.Linear.from_float(W, group=GROUP, engine=engine)
    x = X[0]
    expected, of_one = layer(x, group_sizes=[2, 3, 0]), layer(x, expert=1)
    sizes_of = {
        "not 3 numbers": ([6, -1, 0], [5], [2.0, 3.0, 0.0]),
        "rows together": ([2, 3, 1], [2**62] * 3),
    }
    for sentence, wrong in sizes_of.items():
        for sizes in wrong:
            with pytest.raises(ValueError, match=sentence):
                layer(x, group_sizes=sizes)
    with pytest.raises(ValueError, match="rows together"):
        layer(x[:0], group_sizes=[1, 0, 0])
    for expert in (1.0, True, "1"):
        with pytest.raises(ValueError, match=f"expert {expert!r} is not an integer"):
            layer(x, expert=expert)
    foreign, strided, unaligned = (
        x.astype(">f4"),
        np.repeat(x, 2, 0)[::2],
        np.empty(x.nbytes + 1, np.uint8)[1:],
    )
    unaligned = unaligned.view(np.float32).reshape(x.shape)
    unaligned[...] = x
    for same in (foreign, strided, unaligned, np.asfortranarray(x)):
        assert np.array_equal(layer(same, group_sizes=np.array([2, 3, 0], np.uint8)), expected)
        assert np.array_equal(layer(same, expert=np.int64(1)), of_one)


@pytest.mark.parametrize("kind", ["f32", "int8", "offsets", "groups of rows", "torch"])
def test_a_call_is_one_call_of_the_extension(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """After the first one of a shape: no descriptor or memory is made on the way."""
    from zemm._library import library

    called = []

    class Counted:
        def __getattr__(self, name: str) -> Any:
            found = getattr(lib, name)
            return (lambda *args: (called.append(name), found(*args))[1]) if callable(found) else found

    lib = library.lib
    monkeypatch.setattr(library, "lib", Counted())
    engine = zemm.Engine("cpu")
    x, more, w = X[0], {}, W if kind == "groups of rows" else W[0]
    activation: Any = "f32" if kind == "f32" else "int8"
    layer = zemm.Linear.from_float(w, group=GROUP, activation=activation, engine=engine)
    if kind == "offsets":
        codes = np.ones((K, N), np.uint8)
        layer = zemm.Linear.from_quantized(codes, 0.5, offsets=w[:1], activation=activation, engine=engine)
    if kind == "groups of rows":
        more["group_sizes"] = np.array([1, 0, 4])
    if kind == "torch":
        x = pytest.importorskip("torch", reason="needs the package torch").from_numpy(x)
    layer(x, **more)
    called.clear()
    for _ in range(3):
        layer(x, **more)
    assert called == ["layer_run"] * 3


def test_a_call_while_another_is_prepared(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a finaliser or a handler of signals makes it: the first call still has its own tensors."""
    from zemm._arrays import host_tensors

    layer = zemm.Linear.from_float(W[0], group=GROUP, activation="int8", engine=engine)
    x, other = X[0], X[1]
    expected, of_other = layer(x), layer(other)
    host, results = type(host_tensors.host_of(x)), []
    of_tensor = host.pointer

    def interrupted(self: Any, tensor: Any) -> Any:
        if tensor is not x:
            monkeypatch.setattr(host, "pointer", of_tensor)
            results.append(layer(other))
        return of_tensor(self, tensor)

    monkeypatch.setattr(host, "pointer", interrupted)
    assert np.array_equal(layer(x), expected)
    assert np.array_equal(results[0], of_other)


def test_layers_of_one_shape_share_what_calls_touch(engine: zemm.Engine) -> None:
    """Primitives and memories, but no weights and no results: calls in turns give what calls alone give,
    waited for or not, also where K = N, and tensors of a call have equal shapes."""
    w = RNG.standard_normal((4, K, K)).astype(np.float32)
    kinds = [{"activation": "int8"}, {"activation": "f32"}, {"activation": "int8", "symmetric": True}]
    layers = [zemm.Linear.from_float(m, group=GROUP, engine=engine, **k) for m in w for k in kinds]
    x = RNG.standard_normal((4, 3, K)).astype(np.float32)
    alone = [[layer(a) for a in x] for layer in layers]
    for k, results in enumerate(alone):
        for a, y in zip(x, results, strict=True):
            assert np.abs(y - a @ w[k // len(kinds)]).max() < 0.02 * np.abs(y).max()
    streams = zemm.Stream(engine), zemm.Stream(engine)
    in_streams = [[layer(a, stream=streams[i % 2]) for i, layer in enumerate(layers)] for a in x]
    for stream in streams:
        stream.wait()
    for j, a in enumerate(x):
        for k, layer in enumerate(layers):
            assert np.array_equal(in_streams[j][k], alone[k][j])
            assert np.array_equal(layer(a), alone[k][j])
    calls = [layer._calls.get(3, "f32", "f32", None) for layer in layers[:: len(kinds)]]
    assert len({id(call._matmul) for call in calls}) == 1
    assert len({id(call._dst.memory) for call in calls}) == 1
    unlike = [layer._calls.get(3, "f32", "f32", None)._matmul for layer in layers[: len(kinds)]]
    assert len({id(p) for p in unlike}) == len(kinds)
