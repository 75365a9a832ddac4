# SPDX-License-Identifier: Apache-2.0
"""oneDNN as a peer. It gets the same descriptors and attributes, and chooses its own layouts for
tag any."""

from typing import Any, NamedTuple

import numpy as np

from zemm.benchdnn.data import build
from zemm.benchdnn.data.cold_cache import Turns, sets_of
from zemm.benchdnn.data.layout import Layout
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats, encode
from zemm.benchdnn.peers import InTurns, PeerError, onednn_binding
from zemm.benchdnn.peers.onednn_binding import Binding, with_bytes
from zemm.benchdnn.peers.onednn_library import open_library
from zemm.benchdnn.peers.problem import ATTRIBUTES, check_is_plain, given
from zemm.benchdnn.peers.tensors import tensors
from zemm.dtypes import dtype_name
from zemm.memory_desc import MemoryDesc


class OneDnn:
    """oneDNN, loaded into this process."""

    quantises_src = False

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self.version = binding.version

    def prepare(self, case: Case, quantise_src: bool = False) -> "Matmul":
        """The primitive of a case, with its tensors filled and in the layouts that it wants."""
        check_is_plain(case)
        try:
            return Matmul(self._binding, case)
        except PeerError as error:
            options = given(case, "dt", "bia-dt", *ATTRIBUTES)
            raise PeerError(f"{error}, the case has {options}" if options else str(error)) from None


class _Memory(NamedTuple):
    """A memory in the layout of the descriptor md."""

    handle: Any
    md: MemoryDesc


class Matmul(InTurns):
    """A matmul primitive with its arguments."""

    def __init__(self, binding: Binding, case: Case) -> None:
        self._binding = binding
        pd = build.primitive_desc(binding, binding.engine, case)
        self.impl = binding.impl_info(pd)
        self._pd = pd
        scalars = {a.arg: self._scalar(a) for a, _ in tensors(case) if a.on_host}
        filled = {a.arg: self._filled(a, values) for a, values in tensors(case) if not a.on_host}
        self._dst = next(a for a in args.matrices(case) if a.arg == args.DST)
        dst_md = binding.exec_arg_md(pd, args.DST)
        filled[args.DST] = _Memory(onednn_binding.new_memory(binding, dst_md), dst_md)
        runs = []  # each with its memories, which it does not keep
        for chosen in sets_of(case.options.cold_cache, filled, self._size, self._copied):
            handles = scalars | {arg: memory.handle for arg, memory in chosen.items()}
            runs.append((onednn_binding.execution(binding, pd, handles), chosen))
        self._turns = Turns(runs)

    def run(self) -> None:
        run, _ = self._turns.next()
        run()

    def dst(self) -> Floats:
        """The result of the last run."""
        layout, plain = self._plain(self._dst)
        _, memories = self._turns.last
        dst = memories[args.DST]
        memory = onednn_binding.reordered(self._binding, dst.handle, dst.md, plain)
        loaded: Floats = with_bytes(self._binding, memory, layout.size, layout.load)
        return loaded

    def _size(self, memory: "_Memory") -> int:
        """Its bytes."""
        return int(self._binding.lib.dnnl_memory_desc_get_size(memory.md._handle))

    def _copied(self, memory: "_Memory") -> "_Memory":
        return _Memory(onednn_binding.copied(self._binding, memory.handle, memory.md, memory.md), memory.md)

    def _scalar(self, argument: Argument) -> Any:
        md = self._binding.MemoryDesc.host_scalar(dtype_name(argument.data_type))
        scalar = encode(np.full(1, argument.value, np.float32), argument.data_type)
        return onednn_binding.new_scalar(self._binding, md, scalar.view(np.uint8))

    def _filled(self, argument: Argument, values: Floats) -> "_Memory":
        binding = self._binding
        layout, plain = self._plain(argument)
        memory = onednn_binding.new_memory(binding, plain)
        shaped = values.reshape(argument.memory_dims)
        with_bytes(binding, memory, layout.size, lambda raw: layout.store(shaped, raw))
        if argument.tag != "any":
            return _Memory(memory, plain)
        wanted = binding.exec_arg_md(self._pd, argument.arg)
        return _Memory(onednn_binding.reordered(binding, memory, plain, wanted), wanted)

    def _plain(self, argument: Argument) -> tuple[Layout, Any]:
        """The plain layout in which an argument is filled: that of the case, or row-major for tag
        any."""
        tag = None if argument.tag in ("", "any") else argument.tag
        strides = list(argument.strides) or None
        md = MemoryDesc(argument.memory_dims, dtype_name(argument.data_type), tag=tag, strides=strides)
        layout = Layout(tuple(md.dims), tuple(md.strides), md.data_type, md.size)
        plain = self._binding.MemoryDesc(md.dims, md.data_type, strides=md.strides)
        return layout, plain


def load() -> OneDnn:
    """Load oneDNN from its PyPI package."""
    return OneDnn(Binding(*open_library()))
