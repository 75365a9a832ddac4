# SPDX-License-Identifier: Apache-2.0
"""Time layers: `python examples/speed.py calls`, `layers` or `experts`.

calls: what a call of a layer takes from numpy, and its kernels alone, for one row.
layers: layers of 2048 to 2048 features in turns with torch.nn.Linear in bf16 (needs torch).
experts: mixtures of 8 and of 128 experts in turns with Transformers' own in bf16 (needs torch and
    transformers).
"""

import argparse
import copy
import functools
import itertools
import statistics
import time
from collections.abc import Callable

import numpy as np
import zemm


def best(call: Callable[[], object], rounds: int, count: int = 1) -> float:
    """Seconds of a call in the fastest of some rounds of `count` calls."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - begin) / count)
    return min(times)


def time_calls(rounds: int) -> None:
    x = np.ones((1, 576), np.float32)
    for bits, activation in ((8, "f32"), (8, "int8"), (4, "f32"), (4, "int8")):
        w = np.eye(576, dtype=np.float32)
        layer = zemm.Linear.from_float(w, bits=bits, group=32, activation=activation)
        stream = zemm.Stream(layer.engine, profiling=True)
        kernels = []
        for _ in range(rounds):
            stream.reset_profiling()
            layer(x, stream=stream)
            stream.wait()
            kernels.append(sum(stream.profiling_times()) / 1e3)
        call = 1e6 * best(functools.partial(layer, x), rounds, count=50)
        print(f"{bits} bits by {activation}: a call takes {call:.1f} us, its kernels {min(kernels):.1f}")


def quantised_layers() -> dict[str, zemm.Linear]:
    w = np.random.default_rng(0).standard_normal((2048, 2048), np.float32)  # [K, N]
    layers = {}
    for activation in ("int8", "bf16"):
        how = {"scale_dtype": "f16", "activation": activation}
        for group in (128, 32):
            layer = zemm.Linear.from_float(w, bits=4, group=group, **how)
            layers[f"4 bits, groups of {group}, {activation}"] = layer
        layer = zemm.Linear.from_float(w, group=None, symmetric=True, **how)
        layers[f"8 bits, symmetric columns, {activation}"] = layer
    kinds = {"MXFP8": ("f8_e4m3", "mx"), "MXFP4": ("f4_e2m1", "mx"), "NVFP4": ("f4_e2m1", "nvfp4")}
    for name, (dtype, scaling) in kinds.items():
        values, scales = zemm.quantize_floats(np.ascontiguousarray(w.T), dtype, scaling)
        layers[f"{name}, bf16"] = zemm.Linear.from_quantized(values.T, scales.T, activation="bf16")
    return layers


def time_layers(rounds: int) -> None:
    import torch
    import zemm.torch

    zemm.torch.share_cores()  # as when a model loads
    linear = torch.nn.Linear(2048, 2048, bias=False, dtype=torch.bfloat16).requires_grad_(False)
    print("how many times as fast as torch: 1 row, 512 rows")
    for name, layer in quantised_layers().items():
        ratios = []
        for rows in (1, 512):
            x = torch.randn(rows, 2048, dtype=torch.bfloat16)
            layer(x)
            calls = [functools.partial(called, x) for called in (layer, linear)]
            turns = [[best(call, rounds) for call in calls] for _ in range(5)]
            ours, torchs = map(min, zip(*turns, strict=True))
            ratios.append(torchs / ours)
        print(f"{name}: {ratios[0]:.1f}, {ratios[1]:.1f}")


def time_experts(rounds: int) -> None:
    import torch
    import transformers
    import zemm.torch

    shapes = {
        "8 experts of 2048x1024, 2 of them": {
            "hidden_size": 1024,
            "num_experts": 8,
            "num_experts_per_tok": 2,
        },
        "128 experts of 768x2048, 8 of them": {
            "hidden_size": 2048,
            "num_experts": 128,
            "num_experts_per_tok": 8,
        },
    }
    for name, shape in shapes.items():
        width = 2048 if shape["num_experts"] == 8 else 768
        config = transformers.Qwen3MoeConfig(
            **shape, moe_intermediate_size=width, num_hidden_layers=1, vocab_size=128, num_attention_heads=16
        )
        config._experts_implementation = "grouped_mm"
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
        block = model.model.layers[0].mlp
        layers = {"torch": block.experts}
        for activation, group in (("int8", 32), ("int8", 128), ("bf16", 128)):
            copied = copy.deepcopy(block)
            zemm.torch.quantize_(copied, bits=4, group=group, activation=activation, progress=False)
            layers[f"{activation}, groups of {group}"] = copied.experts
        print(f"{name}, ms, best and median")
        for tokens in (1, 4, 32, 512):
            x = torch.randn(tokens, shape["hidden_size"], dtype=torch.bfloat16)
            # A call chooses other experts than the ones before, whose weights may be in a cache.
            chosen = [
                torch.randn(tokens, shape["num_experts"]).softmax(-1).topk(shape["num_experts_per_tok"])
                for _ in range(16)
            ]
            given = itertools.cycle([(x, index, weights.to(x.dtype)) for weights, index in chosen])
            taken: dict[str, list[float]] = {name: [] for name in layers}
            with torch.inference_mode():
                for _ in range(rounds):
                    for name, layer in layers.items():
                        layer(*next(given))  # brings its code and scratch back
                        for _ in range(max(1, 32 // tokens)):
                            arguments = next(given)
                            begin = time.perf_counter()
                            layer(*arguments)
                            taken[name].append(1e3 * (time.perf_counter() - begin))
            cells = (f"{name} {min(ms):.2f} {statistics.median(ms):.2f}" for name, ms in taken.items())
            print(f"{tokens} tokens: {'; '.join(cells)}")


def main() -> None:
    programs = {"calls": time_calls, "layers": time_layers, "experts": time_experts}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=programs)
    parser.add_argument("--rounds", type=int, default=30, help="how often each is timed; the best counts")
    options = parser.parse_args()
    programs[options.what](options.rounds)


if __name__ == "__main__":
    main()
