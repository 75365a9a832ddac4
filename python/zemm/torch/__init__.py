# SPDX-License-Identifier: Apache-2.0
"""zemm's layers as modules of torch, for inference on the host.

    import zemm.torch
    model.proj = zemm.torch.QuantLinear.from_linear(model.proj, bits=4, group=128)
    print(zemm.torch.quantize_(model, bits=4, group=128))  # all that are left

Importing this needs the package torch.
"""

from zemm.errors import missing_package

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise missing_package("zemm.torch", "torch", error) from None

import zemm.torch._experts  # noqa: F401  the operator of exported programs
from zemm.torch._embedding import QuantEmbedding
from zemm.torch._module import QuantLinear
from zemm.torch._quantize import quantize_
from zemm.torch._report import QuantizedLayer, QuantizeReport
from zemm.torch._threads import share_cores
from zemm.torch._warm_up import warm_up

__all__ = [
    "QuantEmbedding",
    "QuantLinear",
    "QuantizeReport",
    "QuantizedLayer",
    "quantize_",
    "share_cores",
    "warm_up",
]
