# SPDX-License-Identifier: Apache-2.0
"""Weights from GGUF files, the files of llama.cpp and ggml.

    file = zemm.gguf.load("model.gguf")
    weights = file["blk.0.attn_q.weight"]
    y = weights.matmul(x)

A file is mapped into memory, and a tensor is decoded when its values are first asked for. Reading
needs the package gguf, which has the types of metadata.
"""

from zemm.gguf.file import File, load
from zemm.gguf.q8_1 import Q8_1, quantize_q8_1, read_q8_1
from zemm.gguf.tensor import Tensor

__all__ = ["Q8_1", "File", "Tensor", "load", "quantize_q8_1", "read_q8_1"]
