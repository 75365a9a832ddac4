# SPDX-License-Identifier: Apache-2.0
"""A model of whisper.cpp with random weights."""

import struct
from collections.abc import Iterator
from pathlib import Path

import gguf
import numpy as np

VOCABULARY = 51864  # of English
AUDIO, TEXT, STATE, HEADS, LAYERS, MELS, FFT = 1500, 448, 128, 2, 4, 80, 201
F32, F16, Q8_0 = 0, 1, 8
Shape = tuple[int, ...]


def layers(name: str, sides: tuple[str, ...]) -> Iterator[tuple[str, Shape, int]]:
    """The tensors of the encoder's or the decoder's layers."""
    for layer in (f"{name}.blocks.{i}" for i in range(LAYERS)):
        for side in sides:
            for part in ("query", "key", "value", "out"):
                yield f"{layer}.{side}.{part}.weight", (STATE, STATE), Q8_0
                if part != "key":
                    yield f"{layer}.{side}.{part}.bias", (STATE,), F32
        for norm in (*(f"{side}_ln" for side in sides), "mlp_ln"):
            yield f"{layer}.{norm}.weight", (STATE,), F32
            yield f"{layer}.{norm}.bias", (STATE,), F32
        for part, n, k in (("0", 4 * STATE, STATE), ("2", STATE, 4 * STATE)):
            yield f"{layer}.mlp.{part}.weight", (n, k), Q8_0
            yield f"{layer}.mlp.{part}.bias", (n,), F32


def tensors() -> Iterator[tuple[str, Shape, int]]:
    yield "encoder.positional_embedding", (AUDIO, STATE), F32
    for part, width in (("conv1", MELS), ("conv2", STATE)):
        yield f"encoder.{part}.weight", (STATE, width, 3), F16
        yield f"encoder.{part}.bias", (STATE, 1), F32
    yield "decoder.positional_embedding", (TEXT, STATE), F32
    yield "decoder.token_embedding.weight", (VOCABULARY, STATE), Q8_0
    for norm in ("encoder.ln_post", "decoder.ln"):
        yield f"{norm}.weight", (STATE,), F32
        yield f"{norm}.bias", (STATE,), F32
    yield from layers("encoder", ("attn",))
    yield from layers("decoder", ("attn", "cross_attn"))


def data_of(rng: np.random.Generator, shape: Shape, data_type: int) -> bytes:
    values = rng.standard_normal(shape, np.float32) / np.sqrt(shape[-1], dtype=np.float32)
    if data_type != Q8_0:
        return values.astype(np.float16 if data_type == F16 else np.float32).tobytes()
    return gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0).tobytes()


def write(path: Path) -> None:
    """The file of a model whose matrices are Q8_0."""
    rng = np.random.default_rng(0)
    numbers = [VOCABULARY, AUDIO, STATE, HEADS, LAYERS, TEXT, STATE, HEADS, LAYERS, MELS, 2007]
    with path.open("wb") as file:
        file.write(struct.pack("<I11i2i", 0x67676D6C, *numbers, MELS, FFT))
        file.write(np.zeros((MELS, FFT), np.float32).tobytes())
        file.write(struct.pack("<ii1s", 1, 1, b"a"))  # one word; whisper.cpp names the others
        for name, shape, data_type in tensors():
            file.write(struct.pack("<3i", len(shape), len(name), data_type))
            file.write(struct.pack(f"<{len(shape)}i", *reversed(shape)) + name.encode())
            file.write(data_of(rng, shape, data_type))
