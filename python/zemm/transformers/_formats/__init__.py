# SPDX-License-Identifier: Apache-2.0
"""The formats of quantised checkpoints that zemm.transformers loads, by their quant_method."""

from zemm.transformers._formats.compressed_tensors import CompressedTensors
from zemm.transformers._formats.format import Format
from zemm.transformers._formats.gptq import Gptq

FORMATS: dict[str, type[Format]] = {"gptq": Gptq, "compressed-tensors": CompressedTensors}

__all__ = ["FORMATS", "Format"]
