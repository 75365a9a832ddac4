# SPDX-License-Identifier: Apache-2.0
"""GPTQ's version 1 stores zero points less one: those of 0, as the makers of checkpoints store them."""

import numpy as np
import pytest
import zemm
from support_checkpoints import in_words, torch
from zemm.transformers._formats.format import Place

FORMATS = zemm.transformers._formats.FORMATS


@pytest.mark.parametrize("bits", [4, 8])
def test_gptq_zero_points_of_0(bits: int) -> None:
    """Stored as the largest integer; or, by makers that subtract from words, borrowed from the neighbour."""
    top, count = 2**bits - 1, 32 // bits
    rng = np.random.default_rng(bits)
    zero_points = np.concatenate([rng.integers(0, most, (9, count)) for most in (1, 2, 3, top + 1)])
    words = in_words(zero_points, bits)
    ones = np.int32(0x11111111 if bits == 4 else 0x01010101)
    stored = {"": in_words((zero_points - 1) & top, bits), "gptqmodel:2.0.0": words - ones}
    groups = len(zero_points)
    place = Place("l", 8 * groups, count, False)
    tensors = {
        "qweight": torch.zeros(8 * groups * bits // 32, count, dtype=torch.int32),
        "scales": torch.ones(groups, count, dtype=torch.float16),
    }
    for maker, qzeros in stored.items():
        for about in ({"meta": {"quantizer": [maker]}}, {"provider": "auto-round" if maker else None}):
            config = {"bits": bits, "group_size": 8, **about}
            found = FORMATS["gptq"](config).weights(place, {**tensors, "qzeros": torch.from_numpy(qzeros)})
            assert np.array_equal(np.asarray(found.zero_points).T, zero_points)
    config = {"bits": bits, "group_size": 8, "packing_format": "auto_round:auto_gptq"}
    qzeros = torch.from_numpy(stored["gptqmodel:2.0.0"])
    found = FORMATS["auto-round"](config).weights(place, {**tensors, "qzeros": qzeros})
    assert np.array_equal(np.asarray(found.zero_points).T, zero_points)
