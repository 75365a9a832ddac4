# SPDX-License-Identifier: Apache-2.0
"""Quantised checkpoints in Transformers with zemm's layers: packed, never expanded.

    import zemm.transformers
    zemm.transformers.register()
    model = AutoModelForCausalLM.from_pretrained("a checkpoint of GPTQ")

Importing this needs the packages torch and transformers.
"""

from zemm.errors import missing_package

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise missing_package("zemm.transformers", "torch", error) from None
try:
    import transformers as _transformers  # noqa: F401
except ImportError as error:
    raise missing_package("zemm.transformers", "transformers", error) from None

from zemm.transformers._compile import compile
from zemm.transformers._config import ZemmConfig
from zemm.transformers._registry import register, registered, unregister

__all__ = ["ZemmConfig", "compile", "register", "registered", "unregister"]
