# SPDX-License-Identifier: Apache-2.0
"""Dynamic scales of dst: each group of dst gets a scale from its largest magnitude."""

import numpy as np

from zemm.benchdnn.grammar.dtypes import BY_NAME, Floats, rounded

_E4M3 = BY_NAME["f8_e4m3"]


def quantized(x: Floats, shape: tuple[int, ...], mode: str, dst_dt: str) -> tuple[Floats, Floats]:
    """x divided by the scales of its groups and clamped to dst's range, and the scales, which have
    `shape`.

    With mode dynamic_mx scales are powers of two, computed from exponents alone. With dynamic_fp
    they are f8_e4m3 values in [2^-3, 448], rounded to f16 first.
    """
    # An f32 has no 2^31 - 1.
    largest = np.float32(2.0**31 if dst_dt == "s32" else BY_NAME[dst_dt].high)
    groups = [want // have for want, have in zip(x.shape, shape, strict=True)]
    split: list[int] = [size for pair in zip(shape, groups, strict=True) for size in pair]
    inner = tuple(range(1, len(split), 2))
    blocks = x.reshape(split)
    peak = np.abs(blocks).max(axis=inner, keepdims=True)
    if mode == "dynamic_mx":
        scale = rounded(rounded(peak, "e8m0") / rounded(np.full(1, largest), "e8m0"), "e8m0")
    else:
        scale = np.clip(peak / largest, np.float32(_E4M3.epsilon), np.float32(_E4M3.high))
        scale = rounded(rounded(scale, "f16"), "f8_e4m3")
    out = np.clip(blocks * (np.float32(1) / scale), -largest, largest)
    return out.reshape(x.shape), scale.reshape(shape)
