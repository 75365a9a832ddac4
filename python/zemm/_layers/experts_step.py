# SPDX-License-Identifier: Apache-2.0
"""The steps of a mixture of experts beside its products (src/experts/experts.h)."""

from typing import Any

from zemm._library import library
from zemm.engine import Engine
from zemm.primitive import PrimitiveDesc
from zemm.words import DataType


class ExpertsPrimitiveDesc(PrimitiveDesc):
    """step: "gather", "gate" or "combine". more: the other fields of zemm_experts_t."""

    def __init__(
        self,
        engine: Engine,
        step: str,
        *,
        tokens: int,
        top_k: int = 1,
        experts: int = 1,
        width: int = 1,
        src_type: DataType = "f32",
        dst_type: DataType = "f32",
        weights_type: DataType = "f32",
        **more: Any,
    ) -> None:
        sizes = {"tokens": tokens, "top_k": top_k, "experts": experts, "width": width}
        types = {"src_type": src_type, "dst_type": dst_type, "weights_type": weights_type}
        made = library.experts_step(step, {**sizes, **types, **more})
        self._make(engine, (engine,), "experts_primitive_desc_create", engine._handle, made)
        self._keep_problem((), None)
