# SPDX-License-Identifier: Apache-2.0
"""zemm.transformers.compile(): compiled decode steps give what generate() gives without them."""

import contextlib
import copy
import ctypes
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zemm
from support_checkpoints import torch, transformers
from support_smollm2 import FILE, FOLDER
from zemm.torch._calls import NUMBERS
from zemm.transformers import _step_inputs, _step_operator
from zemm.transformers._decode_attention import OPERATOR as ATTENTION
from zemm.transformers._decode_attention import attend

VOCABULARY = 96
SIZES = {
    "vocab_size": VOCABULARY, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None,
}  # fmt: skip
# The graphs of a call of 200 tokens: a sliding window that is full has its own.
GRAPHS = {"Llama": 1, "Qwen3": 1, "Gemma3": 2}
GREEDY = {"max_new_tokens": 16, "do_sample": False, "return_dict_in_generate": True, "output_logits": True}
MANY = {**GREEDY, "max_new_tokens": 200}


def small(name: str, folder: Path) -> Any:
    more: dict[str, Any] = {"sliding_window": 64} if name in ("Gemma3", "Mistral") else {}
    if name == "Gemma3":
        more["layer_types"] = ["sliding_attention", "full_attention"]
    kind = "Gemma3Text" if name == "Gemma3" else name
    config = getattr(transformers, f"{kind}Config")(**SIZES, **more)
    torch.manual_seed(0)
    getattr(transformers, f"{name}ForCausalLM")(config).save_pretrained(folder)
    quantised = zemm.transformers.ZemmConfig(bits=8, group=32)
    return transformers.AutoModelForCausalLM.from_pretrained(folder, quantization_config=quantised).eval()


def prompts(count: int) -> dict[str, Any]:
    """Of one length, or padded on the left."""
    ids = torch.randint(2, VOCABULARY, (count, 12), generator=torch.Generator().manual_seed(count))
    mask = torch.ones_like(ids)
    for row in range(1, count):
        ids[row, :row], mask[row, :row] = 0, 0
    return {"input_ids": ids, "attention_mask": mask}


def step_in_c(inputs: list[Any], table: Any, row: int, size: list[int], dtype: Any) -> Any:
    """zemm::step as Inductor's C++ calls it, which loses exceptions of Python."""
    aoti, pointer_of, capsule_of = (
        torch._C._aoti,
        ctypes.pythonapi.PyCapsule_GetPointer,
        ctypes.pythonapi.PyCapsule_New,
    )
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule_of.restype, capsule_of.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    capsules = [aoti.unsafe_alloc_void_ptr_from_tensor(x) for x in inputs]
    handles = (ctypes.c_void_p * len(inputs))(*(pointer_of(capsule, None) for capsule in capsules))
    y = ctypes.c_void_p()
    function = ctypes.CFUNCTYPE(
        ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
        ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p,
    )(int(table[:8].view(torch.int64)))  # fmt: skip
    sizes = (ctypes.c_int64 * len(size))(*size)
    status = function(
        handles, len(inputs), table.data_ptr(), row, sizes, len(size), NUMBERS[dtype], ctypes.addressof(y)
    )
    for capsule in capsules:
        aoti.alloc_tensor_by_stealing_from_void_ptr(capsule)
    if status:
        raise RuntimeError("API call failed")
    return aoti.alloc_tensor_by_stealing_from_void_ptr(capsule_of(y, None, None))


class InC(torch.fx.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        step = target is torch.ops.zemm.step.default
        return step_in_c(*args) if step else super().call_function(target, args, kwargs)


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The graphs that are made. torch runs them without a compiler, and zemm's operators as C++ does."""
    found: list[Any] = []

    def backend(graph: Any, inputs: Any, **options: Any) -> Any:
        found.append(graph)
        return InC(graph).run

    torch._dynamo.reset()
    monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda name: backend)
    return found


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The steps whose graph torch looks up; others repeat the one before."""
    found: list[Any] = []
    guarded = zemm.transformers._compile._Steps._guarded

    def noted(self: Any, inputs: Any) -> Any:
        found.append(inputs)
        return guarded(self, inputs)

    monkeypatch.setattr(zemm.transformers._compile._Steps, "_guarded", noted)
    return found


def close(found: Any, expected: Any) -> None:
    assert torch.equal(found.sequences, expected.sequences)
    for one, other in zip(found.logits, expected.logits, strict=True):
        assert (one - other).abs().max() <= 1e-5 * other.abs().max()


@pytest.mark.parametrize("name", GRAPHS)
def test_steps(name: str, tmp_path: Path, graphs: list[Any], looked_up: list[Any]) -> None:
    """One graph for each number of sequences, and for all tokens."""
    model, threads = small(name, tmp_path), torch.get_num_threads()
    expected = {count: model.generate(**prompts(count), **MANY) for count in (1, 4)}
    assert zemm.transformers.compile(model) is model
    for count in (1, 4, 1):
        close(model.generate(**prompts(count), **MANY), expected[count])
    assert len(graphs) == 2 * GRAPHS[name]
    assert len(looked_up) == 3 * GRAPHS[name]
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("given", ["ids", "no mask", "embeddings", "a mask with holes"])
@pytest.mark.parametrize("name", [*GRAPHS, "Mistral"])
def test_arguments_of_steps(
    name: str, given: str, tmp_path: Path, graphs: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are made here are those of Transformers."""
    found, make = [], _step_inputs.StepInputs.__call__

    def compared(self: Any, ids: Any, kwargs: Any) -> Any:
        made = make(self, ids, kwargs)
        if made is not None:
            expected = model_class.prepare_inputs_for_generation(model, ids, **kwargs)
            found.append(self._is_equal(made, expected))
        return made

    monkeypatch.setattr(_step_inputs.StepInputs, "__call__", compared)
    model = small(name, tmp_path)
    model_class = type(model)
    zemm.transformers.compile(model, max_length=128)
    for count in (1, 4):
        inputs = prompts(count)
        if given == "no mask":
            del inputs["attention_mask"]
        elif given == "embeddings":
            inputs["inputs_embeds"] = model.get_input_embeddings()(inputs.pop("input_ids"))
        elif given == "a mask with holes":
            inputs["attention_mask"][:, 5] = 0
        model.generate(**inputs, max_new_tokens=12, do_sample=False)
    assert all(found)
    assert len(found) == (2 * 10 if name in ("Llama", "Qwen3") else 0)


@pytest.mark.parametrize(
    ("arguments", "is_compiled"),
    [
        ({"do_sample": True, "temperature": 2.0, "top_p": 0.9}, True),
        ({"do_sample": True, "num_return_sequences": 3, "repetition_penalty": 1.2}, True),
        ({"do_sample": False, "eos_token_id": list(range(2, 40)), "min_new_tokens": 3}, True),
        ({"num_beams": 3, "do_sample": False}, False),
        ({"prompt_lookup_num_tokens": 3, "do_sample": False}, False),
        ({"use_cache": False, "do_sample": False}, False),
        ({"cache_implementation": "dynamic", "do_sample": False}, False),
    ],
    ids=str,
)
def test_ways_of_generate(
    arguments: dict[str, Any], is_compiled: bool, tmp_path: Path, graphs: list[Any], looked_up: list[Any]
) -> None:
    model, inputs = small("Llama", tmp_path), prompts(1)
    torch.manual_seed(1)
    expected = model.generate(**inputs, max_new_tokens=20, **arguments)
    zemm.transformers.compile(model, max_length=40)
    torch.manual_seed(1)
    assert torch.equal(model.generate(**inputs, max_new_tokens=20, **arguments), expected)
    assert len(graphs) == len(looked_up) == is_compiled


class AttentionInGraph:
    """As _step_operator._Call. count: of calls that Python has run."""

    entry = (_step_operator._KINDS[ATTENTION], 0, 0, 0)

    def __init__(self, has_mask: bool) -> None:
        self.has_mask, self.count = has_mask, 0

    def bound(self, given: tuple[Any, ...]) -> Any:
        def call(inputs: list[torch.Tensor]) -> tuple[torch.Tensor, int]:
            self.count += 1
            return attend(*inputs[:3], inputs[3] if self.has_mask else None, 0.3)

        return call


# Of the largest value of v: sums of products, and what is stored.
BOUNDS = {torch.float32: 2.0**-22, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}


@pytest.mark.parametrize("dtype", BOUNDS, ids=str)
@pytest.mark.parametrize("masked", ["none", "ends", "holes", "all"])
@pytest.mark.parametrize(
    ("batch", "heads", "shared", "tokens", "width"),
    [
        (1, 1, 1, 1, 16), (2, 3, 3, 100, 64), (3, 2, 5, 33, 80), (1, 2, 2, 47, 48), (4, 1, 8, 16, 128),
        (4, 2, 6, 300, 64), (8, 4, 4, 130, 512), (9, 2, 7, 256, 32),
    ],
)  # fmt: skip
def test_attention(
    batch: int, heads: int, shared: int, tokens: int, width: int, masked: str, dtype: torch.dtype
) -> None:
    generator = torch.Generator().manual_seed(tokens)
    q = torch.randn(batch, heads * shared, 1, width, generator=generator).to(dtype)
    k, v = torch.randn(2, batch, tokens, heads, width, generator=generator).to(dtype).transpose(2, 3)
    mask = None
    if masked != "none":
        mask = torch.rand(batch, 1, 1, tokens, generator=generator) < (0.5 if masked == "holes" else 1)
        if masked == "ends":
            mask[:, ..., tokens // 2 + 1 :], mask[-1, ..., : tokens // 3] = False, False
        mask[..., tokens // 2] = True
        mask[-1] &= masked != "all"
    y = torch.ops.zemm.attention(q, k, v, mask, 0.3)
    call, inputs = AttentionInGraph(mask is not None), [q, k, v] + [mask] * (mask is not None)
    table = _step_operator._Table([call], (), [])
    for _ in range(2):
        assert torch.equal(step_in_c(inputs, table.tensor, 1, y.shape, y.dtype), y)
    assert call.count == 1
    transposed = [q, k.mT.contiguous().mT, v, *inputs[3:]]  # has to be copied
    for _ in range(2):
        assert torch.equal(step_in_c(transposed, table.tensor, 1, y.shape, y.dtype), y)
    y = y.transpose(1, 2)
    exact = q.double(), k.double(), v.double()
    expected = torch.nn.functional.scaled_dot_product_attention(*exact, mask, scale=0.3, enable_gqa=True)
    scores = 0.3 * exact[0].unflatten(1, (heads, shared)).squeeze(3) @ exact[1].mT
    bound = BOUNDS[dtype] * v.abs().max() + 2.0**-22 * (1 + scores.abs().max()) * v.abs().max()
    assert (y - expected.nan_to_num()).abs().max() < bound
    k[0, 0, tokens // 2] = float("nan")
    assert torch.ops.zemm.attention(q, k, v, None, 1.0)[0, 0, 0].isnan().all()


def test_a_changed_model(tmp_path: Path, graphs: list[Any]) -> None:
    """Other values, another module and a hook, which torch itself would not see."""
    model, inputs = small("Llama", tmp_path), prompts(1)
    plain = copy.deepcopy(model)
    zemm.transformers.compile(model)
    changes: list[Callable[[Any], Any]] = [
        lambda net: net.model.norm.weight.mul_(-1),
        lambda net: setattr(net.model.layers[0], "mlp", torch.nn.Identity()),
        lambda net: net.model.layers[1].mlp.register_forward_hook(lambda module, args, y: 2 * y),
    ]
    for count, change in zip((1, 1, 2, 2), [lambda net: None, *changes], strict=True):
        before = plain.generate(**inputs, **GREEDY).logits[1]
        change(model), change(plain)
        expected = plain.generate(**inputs, **GREEDY)
        assert change not in changes or not torch.equal(expected.logits[1], before)
        close(model.generate(**inputs, **GREEDY), expected)
        assert len(graphs) == count


def test_a_model_that_torch_cannot_compile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def backend(*args: Any, **options: Any) -> Any:
        raise RuntimeError("no compiler")

    model, inputs = small("Llama", tmp_path), prompts(1)
    expected = model.generate(**inputs, **GREEDY)
    zemm.transformers.compile(model)
    torch._dynamo.reset()
    monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda name: backend)
    with caplog.at_level(logging.WARNING, "zemm"):
        for _ in range(2):
            close(model.generate(**inputs, **GREEDY), expected)
    assert len(caplog.records) == 1
    assert "LlamaForCausalLM runs uncompiled" in caplog.text
    assert "no compiler" in caplog.text


def test_other_layers(tmp_path: Path, graphs: list[Any]) -> None:
    """A graph has the layers that the modules have now."""
    model, inputs = small("Llama", tmp_path), prompts(1)
    plain = copy.deepcopy(model)
    zemm.transformers.compile(model)
    close(model.generate(**inputs, **GREEDY), plain.generate(**inputs, **GREEDY))
    for net in (model, plain):
        up, gate = (getattr(net.model.layers[1].mlp, name) for name in ("up_proj", "gate_proj"))
        state = up.state_dict()
        up.load_state_dict(gate.state_dict()), gate.load_state_dict(state)
        net.model.layers[0].self_attn.q_proj.load_state_dict(
            net.model.layers[1].self_attn.q_proj.state_dict()
        )
    close(model.generate(**inputs, **GREEDY), plain.generate(**inputs, **GREEDY))
    assert len(graphs) == 1


def test_calls_of_python(tmp_path: Path, graphs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one of each layer, and of attention in each block."""
    model, found = small("Llama", tmp_path), []
    run = _step_operator._Table.run
    monkeypatch.setattr(
        _step_operator._Table, "run", lambda table, row, inputs: found.append(row) or run(table, row, inputs)
    )
    zemm.transformers.compile(model)
    model.generate(**prompts(1), **GREEDY)
    layers = [part for part in model.modules() if isinstance(part, zemm.torch.QuantLinear)]
    assert len(found) == len(set(found)) == len(layers) + model.config.num_hidden_layers


def test_exceptions(tmp_path: Path, graphs: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of what C++ leaves to Python come through, and the next call is right."""
    model, inputs = small("Llama", tmp_path), prompts(1)
    expected = model.generate(**inputs, **GREEDY)
    zemm.transformers.compile(model)
    with monkeypatch.context() as patched:
        patched.setattr(_step_operator, "find", lambda parts: {}["lost"])
        with pytest.raises(KeyError, match="lost"):
            model.generate(**inputs, **GREEDY)
    close(model.generate(**inputs, **GREEDY), expected)
    assert len(graphs) == 1


class StopError(Exception):
    pass


@pytest.mark.parametrize("ends", [False, True], ids=["whole", "exception"])
def test_threads(ends: bool, tmp_path: Path, graphs: list[Any]) -> None:
    """torch has one thread between the first step and the end, those of others aside."""
    model, all_threads, found = small("Llama", tmp_path), torch.get_num_threads(), []
    threads = all_threads + 1

    def criterion(ids: Any, scores: Any, **kwargs: Any) -> Any:
        other = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
        found.append(torch.get_num_threads())
        other.start(), other.join()
        if ends and len(found) >= 6:
            raise StopError
        return torch.zeros(len(ids), dtype=torch.bool)

    zemm.transformers.compile(model)
    torch.set_num_threads(threads)
    try:
        for _ in range(2):
            found.clear()
            with contextlib.suppress(StopError):
                model.generate(
                    **prompts(1), **GREEDY, stopping_criteria=transformers.StoppingCriteriaList([criterion])
                )
            assert torch.get_num_threads() == threads
            assert found[:6] == [threads, threads, 1, threads, 1, threads]
    finally:
        torch.set_num_threads(all_threads)


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="model is a Linear"):
        zemm.transformers.compile(torch.nn.Linear(2, 2))
    model = zemm.transformers.compile(small("Llama", tmp_path))
    with pytest.raises(ValueError, match="compiled already"):
        zemm.transformers.compile(model)


@pytest.mark.full
@pytest.mark.long
@pytest.mark.parametrize("name", [*GRAPHS, "SmolLM2"])
def test_compiled_by_inductor(name: str, tmp_path: Path, looked_up: list[Any]) -> None:
    if name == "SmolLM2":
        with zemm.transformers.registered():
            model = transformers.AutoModelForCausalLM.from_pretrained(
                FOLDER, gguf_file=FILE, dtype=torch.float32
            ).eval()
        model.generation_config = transformers.GenerationConfig(pad_token_id=0)
    else:
        model = small(name, tmp_path)
    expected = {count: model.generate(**prompts(count), **MANY) for count in (1, 4)}
    zemm.transformers.compile(model)
    for count in (1, 4):
        close(model.generate(**prompts(count), **MANY), expected[count])
    assert len(looked_up) == 2 * GRAPHS.get(name, 1)
