# SPDX-License-Identifier: Apache-2.0
"""zemm's operators in the graph of a decode step, as one operator that the C++ of Inductor calls without
Python and without torch's dispatcher.

torch.ops.zemm.linear takes a layer as five tensors, which makes a thousand arguments of a step. zemm::step
takes the number of a row of a table instead. A table belongs to a graph and to the layers that it is called
with, so that what torch compiles and keeps depends on the model's shapes alone.
"""

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from zemm._torch_calls import step_with
from zemm.torch._calls import NUMBERS
from zemm.torch._found import find
from zemm.transformers._decode_attention import OPERATOR as ATTENTION
from zemm.transformers._decode_attention import attend

_log = logging.getLogger("zemm")
_Compiled = tuple[Callable[..., Any], Callable[[tuple[Any, ...]], tuple[Any, ...]]]
LINEAR = torch.ops.zemm.linear.default
# entry_t of torch_calls/step.hpp. Row 0 has the address of step() as its kind.
_ENTRY = np.dtype([("kind", "i8"), ("layer", "u8"), ("in_features", "i8"), ("layout", "i8", 11)])
_KINDS = {LINEAR: 1, ATTENTION: 2}
# The whole function is in the compiled code, so that it does not look for a symbol of this process.
_SHIM = """\
inline AOTITorchError aoti_torch_cpu_step(const AtenTensorHandle* inputs, int64_t count,
    AtenTensorHandle table, int64_t row, const int64_t* size, int64_t ndim, int32_t dtype,
    AtenTensorHandle* y) {
  void* entries = nullptr;
  AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_get_data_ptr(table, &entries));
  using step_t = AOTITorchError(const AtenTensorHandle*, int64_t, void*, int64_t, const int64_t*, int64_t,
      int32_t, AtenTensorHandle*);
  return (**static_cast<step_t**>(entries))(inputs, count, entries, row, size, ndim, dtype, y);
}"""


class _Shims(dict[str, list[str]]):
    """Operators by name: torch's caches have the options in their keys, and cannot save operators."""

    def __contains__(self, operator: object) -> bool:
        return super().__contains__(str(operator))


# The compiler needs long for the calls of kernels if it optimises them as it does the kernels.
_OPTIONS: dict[str, Any] = {
    "cpp_wrapper": True,
    "cpp_wrapper_build_separate": True,
    "aot_inductor.compile_wrapper_opt_level": "O1",
    "aot_inductor.custom_ops_to_c_shims": _Shims({"zemm.step.default": [_SHIM]}),
}

_library = torch.library.Library("zemm", "FRAGMENT")
_library.define(
    "step(Tensor[] inputs, Tensor table, int row, int[] size, ScalarType dtype) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


class _Call:
    """A call of an operator in a graph. Its tensors are inputs, or parts of layers in lists."""

    def __init__(self, node: torch.fx.Node, places: dict[torch.fx.Node, int]) -> None:
        """places: of the graph's arguments."""
        self._operator: Any = node.target
        self._args = [[places[part] for part in arg] if _is_layer(arg) else arg for arg in node.args]
        self._layers = [at for at, arg in enumerate(node.args) if _is_layer(arg)]
        self._inputs = [at for at, arg in enumerate(node.args) if isinstance(arg, torch.fx.Node)]
        self._is_linear = node.target is LINEAR
        self.entry = (
            _KINDS.get(self._operator, 0),
            0,
            node.args[2] if self._is_linear else 0,
            0,
        )

    def layers(self) -> list[int]:
        """The places of the parts."""
        return [place for at in self._layers for place in self._args[at]]

    def bound(self, given: tuple[Any, ...]) -> Callable[[list[torch.Tensor]], tuple[torch.Tensor, int]]:
        """The call with the layers among the graph's arguments. A function from inputs to the result and the
        number of the layer or of attention, which is 0 of other operators."""
        own = [[given[place] for place in arg] if _is_layer(arg) else arg for arg in self._args]

        def call(inputs: list[torch.Tensor]) -> tuple[torch.Tensor, int]:
            args: list[Any] = list(own)
            for at, x in zip(self._inputs, inputs, strict=True):
                args[at] = x
            if self._operator is ATTENTION:
                return attend(*args)
            y = self._operator(*args)
            return y, find(args[1])._calls.number if self._is_linear else 0

        return call


def _is_layer(arg: Any) -> bool:
    return isinstance(arg, list | tuple)


class _Table:
    """The calls of a graph, with layers."""

    def __init__(self, calls: list[_Call], given: tuple[Any, ...], layers: list[torch.Tensor]) -> None:
        self.layers = layers
        self._calls = [call.bound(given) for call in calls]
        self._entries = np.array([(_ADDRESS, 0, 0, 0), *(call.entry for call in calls)], _ENTRY)
        self.tensor = torch.from_numpy(self._entries.view(np.uint8))
        _tables[self.tensor.data_ptr()] = self

    def run(self, row: int, inputs: list[torch.Tensor]) -> torch.Tensor:
        y, self._entries["layer"][row] = self._calls[row - 1](inputs)
        if self._entries["kind"][row] == _KINDS[ATTENTION]:
            k, v = inputs[1:3]
            self._entries["layout"][row] = (*k.shape[:3], *k.stride(), *v.stride())
        return y


_tables: weakref.WeakValueDictionary[int, _Table] = weakref.WeakValueDictionary()
_failed = threading.local()


def _run(address: int, row: int, inputs: list[torch.Tensor]) -> torch.Tensor:
    """What step() leaves to Python, such as the first call of a layer. Inductor's C++ loses exceptions."""
    try:
        return _tables[address].run(row, inputs)
    except BaseException as error:
        _failed.error = error
        raise


_ADDRESS = step_with(_run)


def _fake(
    inputs: list[torch.Tensor], table: torch.Tensor, row: int, size: list[int], dtype: torch.dtype
) -> torch.Tensor:
    return inputs[0].new_empty(size, dtype=dtype)


_library.impl("step", lambda inputs, table, row, *_: _tables[table.data_ptr()].run(row, inputs), "CPU")
torch.library.register_fake("zemm::step", _fake, lib=_library)
_STEP = torch.ops.zemm.step.default


def compiled_step(module: torch.fx.GraphModule, examples: list[Any], options: dict[str, Any]) -> _Compiled:
    """The graph of a decode step as Inductor compiles it, and a function from the graph's arguments to those
    that it takes. examples: of the graph's arguments, as a backend gets them."""
    inductor, config = torch._dynamo.lookup_backend("inductor"), torch._inductor.config._config
    if NUMBERS and all(name in config for name in _OPTIONS):
        step = _StepGraph(module, examples)
        try:
            run = inductor(step.module, step.examples, config_patches={**options, **_OPTIONS})
            return _raising(run), step.args
        except Exception as error:  # whatever it is, Inductor's Python may do without
            _log.info("a decode step is compiled without C++ around its kernels: %s", error)
    return inductor(module, examples, config_patches=options), lambda given: given


def _raising(run: Callable[..., Any]) -> Callable[..., Any]:
    """With the exceptions of Python that Inductor's C++ has lost."""

    def call(*args: Any) -> Any:
        try:
            return run(*args)
        except RuntimeError:
            error = vars(_failed).pop("error", None)
            if error is None:
                raise
            raise error from None

    return call


class _StepGraph:
    """A graph of torch.compile with zemm::step in place of zemm's other operators."""

    def __init__(self, module: torch.fx.GraphModule, examples: list[Any]) -> None:
        """examples: of the graph's arguments, as a backend gets them."""
        arguments = list(module.graph.find_nodes(op="placeholder"))
        places = {node: place for place, node in enumerate(arguments)}
        rows = {
            node: row for row, node in enumerate((n for n in module.graph.nodes if _is_taken(n, places)), 1)
        }
        self._calls = [_Call(node, places) for node in rows]
        self._layers = sorted({place for call in self._calls for place in call.layers()})
        self._kept = [
            place
            for place, node in enumerate(arguments)
            if place not in self._layers or not node.users.keys() <= rows.keys()
        ]
        self._table: _Table | None = None
        self.module = _rewritten(module, [arguments[place] for place in self._kept], rows)
        table = torch.empty(_ENTRY.itemsize * (1 + len(rows)), dtype=torch.uint8)
        mode = torch._guards.detect_fake_mode(examples)
        self.examples = [examples[place] for place in self._kept]
        self.examples.append(table if mode is None else mode.from_tensor(table))

    def args(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments of the compiled graph for those of the original one."""
        layers, table = [given[place] for place in self._layers], self._table
        if table is None or any(one is not own for one, own in zip(layers, table.layers, strict=True)):
            table = self._table = _Table(self._calls, given, layers)
        return (*(given[place] for place in self._kept), table.tensor)


def _is_taken(node: torch.fx.Node, arguments: dict[torch.fx.Node, int]) -> bool:
    """Whether a node is an operator of zemm, and the parts of its layers are arguments of the graph."""
    value = node.meta.get("example_value")
    return (
        isinstance(node.target, torch._ops.OpOverload)
        and node.target.namespace == "zemm"
        and not node.kwargs
        and isinstance(value, torch.Tensor)
        and value.is_contiguous()
        and all(part in arguments for arg in node.args if _is_layer(arg) for part in arg)
    )


def _rewritten(
    module: torch.fx.GraphModule, kept: list[torch.fx.Node], rows: dict[torch.fx.Node, int]
) -> torch.fx.GraphModule:
    """The graph with zemm::step for the nodes that have rows, and with the arguments that are kept."""
    graph, made = torch.fx.Graph(), {}
    for argument in kept:
        made[argument] = graph.node_copy(argument)
    table = graph.placeholder("table")
    for node in module.graph.nodes:
        if node in rows:
            value = node.meta["example_value"]
            inputs = [made[arg] for arg in node.args if isinstance(arg, torch.fx.Node)]
            args = inputs, table, rows[node], list(value.shape), value.dtype
            made[node] = graph.call_function(_STEP, args)
            made[node].meta = dict(node.meta)
        elif node.op != "placeholder":
            made[node] = graph.node_copy(node, made.__getitem__)
    return torch.fx.GraphModule(module, graph)
