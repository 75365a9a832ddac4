# SPDX-License-Identifier: Apache-2.0
"""The formats of quantised checkpoints that zemm.transformers loads, by their quant_method."""

from zemm.transformers._formats.format import Format
from zemm.transformers._formats.gptq import Gptq

FORMATS: dict[str, type[Format]] = {"gptq": Gptq}

__all__ = ["FORMATS", "Format"]
