# SPDX-License-Identifier: Apache-2.0
"""Checks a layer in a state dict as torch.nn.Module.load_state_dict() checks parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from zemm._layers.state import config_of
from zemm.errors import InvalidArgumentsError

_NOTHING = object()


@dataclass
class Faults:
    """Faults of a layer in a state dict: names, and sentences in torch's words."""

    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def faults_of(state: Mapping[str, Any], prefix: str, in_features: int, out_features: int) -> Faults:
    """Compare the layer with a prefix to its description, and to a module of these sizes."""
    if prefix + "config" not in state:
        return Faults(missing=[prefix + "config"])
    try:
        config = config_of(state[prefix + "config"])
    except InvalidArgumentsError as error:
        return Faults(errors=[f"{prefix}config does not describe a layer: {error}"])
    found = Faults()
    names = ["config", "values", *config["types"]]
    found.missing = [prefix + name for name in config["types"] if prefix + name not in state]
    found.unexpected = [
        key for key in state if key.startswith(prefix) and key.removeprefix(prefix) not in names
    ]
    dims, own = tuple(config["dims"]), (in_features, out_features)
    if dims != own:
        found.errors.append(_mismatch(prefix + "values", dims, "current model", own))
    for name, shape in config["shapes"].items():
        key = prefix + name
        given = state.get(key, _NOTHING)
        if given is _NOTHING:
            continue
        if not isinstance(given, (torch.Tensor, np.ndarray)):
            found.errors.append(f"{key} is a {type(given).__name__}, not a tensor")
        elif tuple(given.shape) != shape:
            found.errors.append(_mismatch(key, tuple(given.shape), f"layer of {prefix}config", shape))
    return found


def _mismatch(key: str, given: tuple[int, ...], owner: str, wanted: tuple[int, ...]) -> str:
    """torch's sentence."""
    return (
        f"size mismatch for {key}: copying a param with shape {torch.Size(given)} from checkpoint, the shape"
        f" in {owner} is {torch.Size(wanted)}."
    )
