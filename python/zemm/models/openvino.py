# SPDX-License-Identifier: Apache-2.0
"""OpenVINO, which loads models by optimum-intel."""

from typing import Any

from zemm.models.contestant import Settings
from zemm.models.errors import LeftOut
from zemm.models.model import Model


def load(model: Model, settings: Settings) -> Any:
    """The model. LeftOut: it cannot be loaded."""
    raise LeftOut("its package is optimum-intel: pip install 'optimum-intel[openvino]'")
