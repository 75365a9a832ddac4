# SPDX-License-Identifier: Apache-2.0
"""Layers of every type of weights and of the smallest sizes: one row, one column, one group, N or K that ends
inside a byte. Their saved forms, and parts, have the same weights."""

import copy
import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
import zemm
from support_small_layers import TYPES, expected, layers, weights_of
from zemm._layers.shard import check_parts, part_of
from zemm._library.codes import span_of


@pytest.mark.quick(cases=lambda data_type: data_type == "u4")
@pytest.mark.parametrize("data_type", TYPES)
def test_saved_forms(data_type: Any) -> None:
    for layer in layers(data_type):
        want = expected(layer)
        assert np.allclose(weights_of(layer), want, rtol=1e-6)
        again = [
            zemm.Linear.from_state_dict(layer.state_dict("p."), "p."),
            copy.deepcopy(layer),
            pickle.loads(pickle.dumps(layer)),
        ]
        for other in again:
            assert other.weights.dims == layer.weights.dims
            assert np.array_equal(weights_of(other), weights_of(layer))


@pytest.mark.parametrize("data_type", TYPES)
def test_parts(data_type: Any) -> None:
    """Layers whose rows end inside a byte are refused."""
    refused = 0
    for layer, along in product(layers(data_type, (4, 16), (1, 4, 8)), ("N", "K")):
        want, state = expected(layer), layer.state_dict()
        of_groups = {name: o.parameter.k_group for name, o in layer.weights._operands().items()}
        for size in (2, 4):
            try:
                check_parts(layer.weights.dims, of_groups, None, along, size)
                parts = [part_of(state, along, rank, size) for rank in range(size)]
            except zemm.InvalidArgumentsError as error:
                refused += "inside a byte" in str(error)
                continue
            made = [expected(zemm.Linear.from_state_dict(part)) for part in parts]
            assert np.array_equal(np.concatenate(made, 1 if along == "N" else 0), want)
    assert bool(refused) == (span_of(data_type).elements > 1)


def test_experts() -> None:
    """One expert, and one column with groups."""
    rng = np.random.default_rng(1)
    for experts, n, groups in product((1, 2, 3), (1, 2), (1, 2)):
        values = rng.integers(0, 256, (experts, n, 4)).astype(np.uint8)
        scales = rng.uniform(1, 2, (experts, n, groups)).astype(np.float32)
        layer = zemm.Linear.from_quantized(values, scales, weights_dtype="u2", transposed=True)
        again = copy.deepcopy(layer)
        for e in range(experts):
            one = zemm.Linear.from_quantized(values[e], scales[e], weights_dtype="u2", transposed=True)
            for other in (layer, again):
                y = other(np.eye(16, dtype=np.float32), expert=e)
                assert np.allclose(y, expected(one), rtol=1e-6)


def test_type_of_the_result() -> None:
    """The repr tells the truth, also of float64."""
    layer = next(layers("s8", (4,), (4,)))
    assert "-> type of x (f32 for f64)" in repr(layer)
    for dtype in (np.float32, np.float16, np.float64):
        y = layer(np.ones((2, 4), dtype))
        assert y.dtype == (np.float32 if dtype is np.float64 else dtype)
