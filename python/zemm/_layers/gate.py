# SPDX-License-Identifier: Apache-2.0
"""The function of experts between their two products."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._layers.experts_step import ExpertsPrimitiveDesc
from zemm._library import check
from zemm._library.library import ARG
from zemm._library.lists import GATES
from zemm.engine import Engine, Stream
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.primitive import Primitive


@dataclass(frozen=True)
class Gate:
    """activation(min(gate, gate_most)) * (clamp(up, -up_most, up_most) + up_shift). The gates and what they
    are applied to are the halves of a row or, interleaved, its even and odd elements. Not gated:
    activation(row). alpha: of swish, x * sigmoid(alpha * x)."""

    activation: str = "swish"  # one of GATES
    is_gated: bool = True
    is_interleaved: bool = False
    alpha: float = 1.0
    gate_most: float = inf
    up_most: float = inf
    up_shift: float = 0.0

    @property
    def text(self) -> str:
        """The text that of_text() reads."""
        return json.dumps(asdict(self))

    @staticmethod
    @lru_cache(maxsize=64)
    def of_text(text: str) -> "Gate":
        gate = Gate(**json.loads(text))
        check.choice(gate.activation, GATES, "activation")
        return gate

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """rows: [M, 2 * I], dense; not gated [M, I]. Returns [M, I]. The CPU device computes it."""
        made = np.empty((len(rows), rows.shape[1] // (2 if self.is_gated else 1)), np.float32)
        engine = Engine("cpu")
        pd = ExpertsPrimitiveDesc(engine, "gate", tokens=len(rows), width=made.shape[1], **self.values)
        args = {
            ARG[name]: Memory(MemoryDesc(data.shape, "f32"), engine, data)
            for name, data in (("SRC", rows), ("DST", made))
        }
        with Stream(engine) as stream:
            Primitive(pd).execute(stream, args)
        return made

    @property
    def values(self) -> dict[str, Any]:
        """The fields of zemm_experts_t."""
        return {**asdict(self), "activation": GATES.index(self.activation)}
