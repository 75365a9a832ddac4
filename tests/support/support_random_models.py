# SPDX-License-Identifier: Apache-2.0
"""Random models as GGUF files, whose linear layers have any of ggml's types."""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from support_gguf import finish, usual_blocks
from zemm.models import random_gguf
from zemm.models.shapes import Shape


def write_model(type_name: str, shape: Shape, folder: Path) -> Path:
    """The file of a model of the type, of which the package gguf must know the number."""
    rng, path = np.random.default_rng(1), folder / f"{type_name}.gguf"
    writer = GGUFWriter(path, random_gguf.architecture(shape))
    random_gguf._describe(writer, shape)
    for name, kind, dims in random_gguf._tensors(shape):
        if kind in random_gguf.LINEARS:
            blocks = usual_blocks(type_name, dims, rng)
            writer.add_tensor(name, blocks, raw_dtype=GGMLQuantizationType[type_name])
        else:
            writer.add_tensor(name, random_gguf._values(kind, dims, rng).reshape(dims))
    finish(writer)
    return path
