# SPDX-License-Identifier: Apache-2.0
"""Small checkpoints of models with experts, whose layers are stored in a format one by one."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load_file, save_file
from support_checkpoints import Store, torch, transformers, write

EXPERTS = 4
_SETTINGS = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 128,
    "max_position_embeddings": 64,
    "num_experts_per_tok": 2,
    "initializer_range": 0.2,
}
_DEEPSEEK = {
    "n_routed_experts": EXPERTS,
    "moe_intermediate_size": 32,
    "intermediate_size": 96,
    "first_k_dense_replace": 1,
    "q_lora_rank": None,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8,
    "v_head_dim": 16,
    "num_key_value_heads": 4,
    "head_dim": 8,
}
_OWN: dict[str, dict[str, Any]] = {
    "Mixtral": {"num_local_experts": EXPERTS, "intermediate_size": 96},
    "Qwen3Moe": {
        "num_experts": EXPERTS,
        "moe_intermediate_size": 32,
        "intermediate_size": 96,
        "mlp_only_layers": [0],
        "norm_topk_prob": True,
    },
    "GptOss": {"num_local_experts": EXPERTS, "intermediate_size": 96, "sliding_window": 8},
    "Qwen2Moe": {
        "num_experts": EXPERTS,
        "moe_intermediate_size": 32,
        "intermediate_size": 96,
        "shared_expert_intermediate_size": 32,
    },
    "Olmoe": {"num_experts": EXPERTS, "intermediate_size": 96, "eos_token_id": 2},
    "DeepseekV2": _DEEPSEEK,
    "DeepseekV3": _DEEPSEEK | {"n_group": 2, "topk_group": 1},
    "Glm4Moe": {
        "n_routed_experts": EXPERTS,
        "moe_intermediate_size": 32,
        "intermediate_size": 96,
        "first_k_dense_replace": 1,
    },
    "Phimoe": {"num_local_experts": EXPERTS, "intermediate_size": 96},
    "GraniteMoe": {"num_local_experts": EXPERTS, "intermediate_size": 96},
    "MiniMax": {"num_local_experts": EXPERTS, "intermediate_size": 96},
    "HunYuanMoEV1": {"num_experts": EXPERTS, "moe_topk": 2, "intermediate_size": 96},
    "Llama4Text": {"num_local_experts": EXPERTS, "intermediate_size": 96, "intermediate_size_mlp": 96},
}
MIXTURES = list(_OWN)


def mixture(kind: str, **options: Any) -> Any:
    """A random model in float32, of MIXTURES. The first layer of some has no experts."""
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(**_SETTINGS | _OWN[kind] | options)
    return getattr(transformers, f"{kind.removesuffix('Text')}ForCausalLM")(config).eval()


def save(folder: Path, model: Any, config: dict[str, Any], store: Store, only: str = "proj|w[123]") -> Any:
    """Write the model as a checkpoint with the names of its own checkpoints. Returns the float model that it
    stands for. only: what the names of quantised layers end with."""
    plain = folder / "plain"
    model.save_pretrained(plain)
    tensors = load_file(plain / "model.safetensors")
    packed = {}
    for name, tensor in one_by_one(tensors).items():
        layer = name.removesuffix(".weight")
        is_one = layer != name and re.search(f"(?:{only})$", layer)
        stored = store(layer, tensor.float().contiguous().numpy()) if is_one else None
        if stored is None:
            packed[name] = tensor.contiguous()
            continue
        packed |= {f"{layer}.{key}": torch.as_tensor(array) for key, array in stored.tensors.items()}
        tensor.copy_(torch.from_numpy(np.ascontiguousarray(stored.weight)))
    save_file(tensors, plain / "model.safetensors", {"format": "pt"})
    write(folder, model, packed, config)
    return transformers.AutoModelForCausalLM.from_pretrained(plain)


def one_by_one(tensors: dict[str, Any]) -> dict[str, Any]:
    """Tensors with views of each layer of Llama 4's experts, as its quantised checkpoints have them, in place
    of all experts together."""
    found = {}
    for name, tensor in tensors.items():
        owner, _, key = name.rpartition(".")
        if not name.endswith(("feed_forward.experts.gate_up_proj", "feed_forward.experts.down_proj")):
            found[name] = tensor
            continue
        keys = ("gate_proj", "up_proj") if key == "gate_up_proj" else (key,)
        for expert, weights in enumerate(tensor):
            for own, part in zip(keys, weights.mT.chunk(len(keys)), strict=True):
                found[f"{owner}.{expert}.{own}.weight"] = part
    return found
