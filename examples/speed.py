# SPDX-License-Identifier: Apache-2.0
"""Time layers: `python examples/speed.py calls`, `layers` or `experts`.

calls: what a call of a layer takes from numpy, and its kernels alone, for one row.
layers: layers of 2048 to 2048 features in turns with torch.nn.Linear in bf16 (needs torch).
experts: a mixture of 8 experts beside Transformers' own in bf16 (needs torch and transformers).
"""

import argparse
import functools
import tempfile
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
    from zemm.transformers import ZemmConfig

    config = transformers.MixtralConfig(
        hidden_size=1024, intermediate_size=2048, num_hidden_layers=1, vocab_size=128, dtype="bfloat16"
    )
    quantised = {a: ZemmConfig(bits=4, group=128, activation=a) for a in ("int8", "bf16")}
    with tempfile.TemporaryDirectory() as folder:
        transformers.MixtralForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
        load = functools.partial(
            transformers.AutoModelForCausalLM.from_pretrained,
            folder,
            dtype=torch.bfloat16,
            experts_implementation="grouped_mm",
        )
        models = {name: load(quantization_config=of) for name, of in {"torch": None, **quantised}.items()}
    experts = {name: model.model.layers[0].mlp.experts for name, model in models.items()}
    with torch.inference_mode():
        for tokens in (1, 32, 256):
            x = torch.randn(tokens, 1024, dtype=torch.bfloat16)
            weights, index = torch.randn(tokens, 8).softmax(-1).topk(2)
            given = x, index, weights.to(torch.bfloat16)
            for module in experts.values():
                module(*given)
            times = [
                f"{name} {1e3 * best(functools.partial(module, *given), rounds):.1f} ms"
                for name, module in experts.items()
            ]
            print(f"{tokens} tokens: {', '.join(times)}")


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
