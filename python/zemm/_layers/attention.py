# SPDX-License-Identifier: Apache-2.0
"""Attention of one new token over a cache of keys and values (src/attention/attention.h)."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from zemm._layers.call import layer_call
from zemm._layers.primitives import numbers
from zemm._library import library
from zemm._library.library import ARG
from zemm.engine import Engine, default_engine, stream_of
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.primitive import Primitive, PrimitiveDesc
from zemm.words import DataType

WIDTHS = library.widths_of_attention()  # of a head
_MOST_CALLS = 16  # of a thread


class Attention(NamedTuple):
    """The members of zemm_attention_t."""

    type: DataType
    batch: int
    heads: int
    shared: int
    tokens: int
    width: int
    k_strides: tuple[int, ...]
    v_strides: tuple[int, ...]
    masks: int
    scale: float


class AttentionPrimitiveDesc(PrimitiveDesc):
    def __init__(self, engine: Engine, asked: Attention) -> None:
        type_name, *fields = asked
        made = library.attention(type_name, dict(zip(Attention._fields[1:], fields, strict=True)))
        self._make(engine, (engine,), "attention_primitive_desc_create", engine._handle, made)
        self._keep_problem((), None)


class AttentionCall:
    """Of one thread, for tensors on the host. known: to zemm.torch._calls."""

    def __init__(self, engine: Engine, asked: Attention) -> None:
        _, batch, heads, shared, tokens, width, k_strides, v_strides, masks, _ = asked
        rows = MemoryDesc((batch, heads, shared, width), asked.type)
        mds = {"SRC": rows, "DST": rows}
        for arg, strides in (("SRC_1", k_strides), ("SRC_2", v_strides)):
            mds[arg] = MemoryDesc((batch, heads, tokens, width), asked.type, strides=(*strides, 1))
        if masks:
            mds["SRC_3"] = MemoryDesc((masks, tokens), "u8")
        memories = [Memory.from_handle(md, engine, 0) for md in mds.values()]
        places = [(memory._handle, 0, tensor, 0) for tensor, memory in enumerate(memories)]
        args = {ARG[arg]: memory for arg, memory in zip(mds, memories, strict=True)}
        executions = [(Primitive(AttentionPrimitiveDesc(engine, asked)), args)]
        made = layer_call(executions, places, 0)
        self._run, self._stream = library.bound_chain([made], len(memories)), stream_of(engine)
        self._chain = library.chain([made])
        self._keep = executions, made
        self.known: Any = None

    def run(self, addresses: Sequence[int]) -> None:
        """addresses: of q, y, k, v and perhaps the mask."""
        self._run(self._stream._handle, [library.pointer(address) for address in addresses])

    def usual(self) -> tuple[tuple[int, int, int, int], Any]:
        """As LinearCall.usual()."""
        pointers = self._chain, self._stream._handle
        chain, stream = map(library.address, pointers)
        return (library.CHAIN_RUN, chain, stream, 0), (self._keep, pointers)


class _Calls(threading.local):
    def __init__(self) -> None:
        self.kept: OrderedDict[tuple[Attention, Engine], AttentionCall] = OrderedDict()


_calls = _Calls()


def call_of(asked: Attention) -> AttentionCall:
    """The thread's call."""
    engine = host_engine()
    assert engine is not None
    kept = _calls.kept
    call = kept[asked, engine] if (asked, engine) in kept else AttentionCall(engine, asked)
    kept[asked, engine] = call
    kept.move_to_end((asked, engine))
    if len(kept) > _MOST_CALLS:
        kept.popitem(last=False)
    return call


@lru_cache(256)
def number_of(asked: Attention) -> int:
    """A number that no layer of the process has."""
    return next(numbers)


@cache
def host_engine() -> Engine | None:
    """An engine that reads tensors on the host; None: there is none."""
    engine = default_engine() if Engine.count("cpu") or Engine.count("gpu") else None
    if engine is not None and engine.kind != "cpu":
        engine = Engine("cpu") if Engine.count("cpu") else None
    return engine
