# SPDX-License-Identifier: Apache-2.0
"""The formats of checkpoints that zemm.transformers loads, by their quant_method."""

from collections.abc import Callable, Mapping
from typing import Any

from zemm.transformers._formats.auto_round import auto_round
from zemm.transformers._formats.awq import Awq
from zemm.transformers._formats.compressed_tensors import CompressedTensors
from zemm.transformers._formats.floats import Floats
from zemm.transformers._formats.format import Format
from zemm.transformers._formats.gptq import Gptq
from zemm.transformers._formats.mxfp4 import Mxfp4

# Functions that make a format of a quantization_config.
FORMATS: dict[str, Callable[[Mapping[str, Any]], Format]] = {
    "gptq": Gptq,
    "awq": Awq,
    "auto-round": auto_round,
    "compressed-tensors": CompressedTensors,
    "mxfp4": Mxfp4,
}

__all__ = ["FORMATS", "Floats", "Format"]
