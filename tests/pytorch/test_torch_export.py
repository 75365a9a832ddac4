# SPDX-License-Identifier: Apache-2.0
"""Programs of torch that contain layers, saved and loaded: they have the layers that they were made
with, in every process and on every machine."""

import copy
import gc
import io
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support_torch import KINDS, K, N, module_of, parts_of, torch, x_of
from zemm.torch import _found, _parts

# Makes other layers of the same kinds first, and has results of the saved programs.
OTHER_PROCESS = """
import sys
import torch
import zemm.torch
from support_torch import KINDS, module_of, x_of

others = [module_of(kind, seed=7) for kind in KINDS]
folder = sys.argv[1]
results = {}
for kind in KINDS:
    program = torch.export.load(f"{folder}/{kind}.pt2")
    results[kind] = program.module()(x_of(3))
torch.save(results, f"{folder}/results.pt")
"""


class Model(torch.nn.Module):
    def __init__(self, module: Any) -> None:
        super().__init__()
        self.inner = torch.nn.Sequential(module, torch.nn.ReLU())

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def exported(module: Any, **options: Any) -> Any:
    return torch.export.export(Model(module), (x_of(3),), **options)


def saved_and_loaded(program: Any) -> Any:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file).module()


def test_another_process(tmp_path: Path) -> None:
    expected = {}
    for kind in KINDS:
        module = module_of(kind)
        torch.export.save(exported(module), tmp_path / f"{kind}.pt2")
        expected[kind] = module(x_of(3)).relu()
    subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, tmp_path], cwd=Path(__file__).parent, check=True, timeout=300
    )
    results = torch.load(tmp_path / "results.pt")
    for kind in KINDS:
        assert torch.equal(results[kind], expected[kind]), kind


@pytest.mark.parametrize("strict", [False, True])
def test_any_number_of_rows(strict: bool) -> None:
    module = module_of("u8")
    rows = torch.export.Dim("rows", min=1, max=1000)
    loaded = saved_and_loaded(exported(module, dynamic_shapes=({0: rows},), strict=strict))
    for count in (1, 3, 40):
        assert torch.equal(loaded(x_of(count)), module(x_of(count)).relu())
    again = torch.compile(loaded, backend="aot_eager", fullgraph=True)
    assert torch.equal(again(x_of(3)), module(x_of(3)).relu())


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_in_memory_once(kind: str) -> None:
    """A program of the same machine multiplies the very bytes that it was loaded with."""
    module = module_of(kind)
    for called in (module, saved_and_loaded(exported(module))):
        assert torch.equal(called(x_of(3)).relu(), module(x_of(3)).relu())
        layer = _found.find(parts_of(called))
        assert layer.weights.memory.handle == parts_of(called)[1].data_ptr()
        assert (layer is module.layer) == (called is module)


@pytest.mark.parametrize("kind", KINDS)
def test_another_machines_layout(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that are not in the layout that this machine wants are packed again, once, and again
    when somebody has written to them."""
    monkeypatch.setattr(_parts, "_tag_of", lambda md: None)
    module, other = module_of(kind), module_of(kind, seed=3)
    y = module(x_of(3))
    monkeypatch.undo()
    called = saved_and_loaded(exported(module))
    parts = parts_of(called)
    assert torch.equal(called(x_of(3)), y.relu())
    layer = _found.find(parts)
    is_packed = layer.weights.md.inner_nblks > 0
    assert is_packed == (module.layer.weights.md.inner_nblks > 0)
    assert _found.find(parts) is layer
    parts[1].copy_(parts_of(other)[1] if not is_packed else 0)
    assert not torch.equal(called(x_of(3)), y.relu())
    with torch.inference_mode():
        copies = [part.clone() for part in parts_of(module)]
        assert torch.equal(torch.ops.zemm.linear(x_of(3), copies, K, module.out_features, module._dtype), y)


def test_unaligned_parts() -> None:
    """A file may put the parts anywhere."""
    module = module_of("u8")
    parts = []
    for part in parts_of(module):
        buffer = torch.empty(part.nbytes + 65, dtype=torch.uint8)
        start = 64 - buffer.data_ptr() % 64 + 1
        parts.append(buffer[start : start + part.nbytes].copy_(part))
    assert torch.equal(torch.ops.zemm.linear(x_of(3), parts, K, N, None), module(x_of(3)))


def test_layers_end_with_their_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs and modules that are gone leave nothing behind."""
    monkeypatch.setattr(_found, "_entries", {})
    monkeypatch.setattr(_found, "_next_sweep", _found._FIRST_SWEEP)
    module, x = module_of("u8"), x_of(3)
    y = module(x)
    for _ in range(3 * _found._FIRST_SWEEP):
        parts = [part.clone() for part in parts_of(module)]
        assert torch.equal(torch.ops.zemm.linear(x, parts, K, N, None), y)
        copy.copy(module)
    assert len(_found._entries) <= _found._FIRST_SWEEP
    assert torch.equal(module(x), y)
    parts = parts_of(module)
    del module
    gc.collect()
    assert torch.equal(torch.ops.zemm.linear(x, parts, K, N, None), y)


def scripted(module: Any) -> Any:
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(module, (x_of(3),), check_trace=False), file)
    file.seek(0)
    return torch.jit.load(file)


@pytest.mark.parametrize(
    "saved_form",
    [
        scripted,
        lambda module: pickle.loads(pickle.dumps(torch.fx.symbolic_trace(module))),
        lambda module: copy.deepcopy(torch.fx.symbolic_trace(module)),
        lambda module: copy.deepcopy(exported(module)).module(),
        lambda module: exported(module).run_decompositions().module(),
    ],
    ids=["jit.trace", "fx, pickled", "fx, deepcopy", "deepcopy", "decomposed"],
)
def test_other_forms_of_programs(saved_form: Any) -> None:
    module = module_of("u8")
    called = saved_form(module)
    y = module(x_of(3)).relu()
    del module
    gc.collect()
    module_of("u8", seed=3)
    assert torch.equal(called(x_of(3)).relu(), y)
