# SPDX-License-Identifier: Apache-2.0
"""The steps of a mixture of experts beside its products (src/experts/experts.h)."""

from typing import Any

from zemm._library import library
from zemm.engine import Engine
from zemm.primitive import PrimitiveDesc


class ExpertsPrimitiveDesc(PrimitiveDesc):
    """step: "gather", "gate" or "combine". fields: the other ones of zemm_experts_t; types by name."""

    def __init__(self, engine: Engine, step: str, **fields: Any) -> None:
        made = library.experts_step(step, fields)
        self._make(engine, (engine,), "experts_primitive_desc_create", engine._handle, made)
        self._keep_problem((), None)
