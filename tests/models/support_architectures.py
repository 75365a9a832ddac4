# SPDX-License-Identifier: Apache-2.0
"""Tiny random models of all architectures of Transformers that have a head of a language model.

tiny_model() makes each size of an architecture's usual config small by its name. What does not follow from
names is in EXTRA.
"""

import inspect
from dataclasses import fields
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the package torch")
transformers = pytest.importorskip("transformers", reason="needs the package transformers")

from transformers.models.auto import modeling_auto  # noqa: E402 (after the checks for packages)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402

HEADS = {
    "causal": modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    "seq2seq": modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
    "masked": modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
}
# "causal-llama" and the like.
NAMES = [f"{head}-{kind}" for head, mapping in HEADS.items() for kind in mapping]

HIDDEN, VOCABULARY, TOKENS, LONGEST = 64, 128, 8, 512
_SIZES_OF_NAMES = {
    HIDDEN: """hidden_size d_model n_embd embed_dim dim embedding_size emb_dim word_embed_proj_dim lru_width
     input_embedding_size output_embedding_size backbone_hidden_size output_dim out_hidden_size projection_dim
     text_hidden_size pronunciation_embed_dim shape_embed_dim d_latents prediction_head_size entity_emb_size
     true_hidden_size""",
    128: """intermediate_size ffn_dim d_ff encoder_ffn_dim decoder_ffn_dim ffn_hidden_size dim_ff dff n_inner
     hidden_dim moe_intermediate_size shared_expert_intermediate_size shared_intermediate_size d_inner mlp_dim
     dense_intermediate_size expert_ffn_hidden_size moe_shared_expert_intermediate_size feed_forward_size
     intermediate_size_mlp vocab_size src_vocab_size tgt_vocab_size decoder_vocab_size entity_vocab_size
     vocab_size_per_layer_input audio_vocab_size pronunciation_vocab_size shape_vocab_size
     encoder_hash_byte_group_vocab""",
    4: """num_attention_heads num_heads n_head n_heads encoder_attention_heads decoder_attention_heads
     num_encoder_attention_heads num_decoder_attention_heads swa_num_attention_heads linear_num_value_heads
     num_self_attention_heads num_cross_attention_heads num_experts n_routed_experts num_local_experts
     moe_num_experts""",
    2: """num_key_value_heads swa_num_key_value_heads num_kv_heads kv_n_heads linear_num_key_heads
     num_global_key_value_heads num_experts_per_tok moe_topk moe_top_k moe_k index_n_heads""",
    16: """head_dim d_kv dim_head v_head_dim qk_nope_head_dim swa_head_dim attention_head_dim
     attention_head_size linear_key_head_dim linear_value_head_dim global_head_dim qk_rope_head_dim
     rotary_dim""",
    32: """q_lora_rank kv_lora_rank index_head_dim index_topk o_lora_rank hidden_size_per_layer_input
     sliding_window""",
    1: "n_group topk_group first_k_dense_replace",
}
_SIZES = {name: size for size, names in _SIZES_OF_NAMES.items() for name in names.split()}
_LAYERS = """num_hidden_layers num_layers n_layer n_layers encoder_layers decoder_layers num_decoder_layers
 num_encoder_layers depth num_blocks num_self_attends_per_block"""
# The kind of each layer. A tiny model has a layer of each kind.
_KINDS = ("layer_types", "mlp_layer_types", "layers_block_type")
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}

_FULL, _SLIDING = "full_attention", "sliding_attention"
_MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 16, "mamba_chunk_size": 16}
_REFORMER = {
    "axial_pos_embds": False,
    "attn_layers": ["local", "lsh"],
    "num_buckets": 2,
    "hash_seed": 1,
    "local_attn_chunk_length": 4,
    "lsh_attn_chunk_length": 4,
}
_NGRAMS = {
    "indexer_n_heads": 2,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 32,
    "indexer_budget": 8,
    "indexer_compress_ratio": 4,
    "ngram_vocab_size_base": 100,
    "hc_lowrank": 32,
}
_SWA = {"num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 32}
_SWA |= {"head_dim": 32, "qk_nope_head_dim": 16, "v_head_dim": 16}
_DOTS3 = {f"swa_{name}": size for name, size in _SWA.items()}
_ASSISTANT = {
    "model_type": "gemma4_text",
    "hidden_size": HIDDEN,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "global_head_dim": 16,
    "vocab_size": VOCABULARY,
    "hidden_size_per_layer_input": 0,
    "vocab_size_per_layer_input": 0,
    "layer_types": [_SLIDING, _FULL],
}
_MULTI_HEAD = {"num_key_value_heads": 4}
# More settings of configs, by the architecture's name or its kind.
EXTRA: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1], **_MAMBA},
    "blt": {f"{part}_config": {"hidden_size_global": HIDDEN} for part in ("encoder", "decoder")},
    "cohere_compass_text": {
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2]}
            for kind in (_FULL, _SLIDING)
        }
    },
    "dbrx": {"attn_config": {"rope_theta": 1e4, "clip_qkv": 8.0}},
    "deepseek_v2": {"n_group": 1, "topk_group": 1, "num_experts_per_tok": 2},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "dots3_note": {
        "text_config": _DOTS3,
        "vision_config": {"adapter_in_dim": HIDDEN, "adapter_out_dim": HIDDEN},
        "audio_config": {"adapter_input_size": HIDDEN, "adapter_out_dim": HIDDEN},
    },
    "dots3_note_text": _DOTS3,
    "esm": {"vocab_size": VOCABULARY, "pad_token_id": 0, "mask_token_id": 4},
    "esmc": _MULTI_HEAD,
    "falcon_h1": {**_MAMBA, "mamba_d_ssm": 128},
    "funnel": {"block_sizes": [1, 2]},
    "gemma3n_text": {
        "num_kv_shared_layers": 2,
        "num_hidden_layers": 4,
        "layer_types": [_SLIDING, _FULL] * 2,
        "laurel_rank": 32,
        "intermediate_size": 128,
    },
    "gemma4_assistant": {"backbone_hidden_size": HIDDEN, "text_config": _ASSISTANT},
    "gemma4_unified_assistant": {"backbone_hidden_size": HIDDEN, "text_config": {"global_head_dim": 16}},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["linear_attention", _FULL], **_MAMBA},
    "inkling2_loop_text": {"unpadded_vocab_size": VOCABULARY},
    "inkling2_text": {"unpadded_vocab_size": VOCABULARY},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2_moe": {"layer_types": ["conv", _FULL], "num_dense_layers": 1},
    "longcat_flash": {"zero_expert_num": 2},
    "mamba2": {"num_heads": 8, "state_size": 16, "chunk_size": 16, "n_groups": 1},
    "causal-musicgen": {"decoder": {"num_codebooks": 2}},
    "causal-musicgen_melody": {"decoder": {"num_codebooks": 2}},
    "nemo_speechlm": {
        "text_config": {"mamba_num_heads": 8, "mamba_head_dim": 16, "ssm_state_size": 16, "n_groups": 1},
        "audio_config": {
            "asr_config": _MULTI_HEAD,
            "diarization_config": {
                "head_config": {"audio_hidden_size": HIDDEN},
                "audio_config": _MULTI_HEAD,
            },
        },
        "word_timestamp_config": _MULTI_HEAD,
    },
    "nemotron": {"num_key_value_heads": 2},
    "qwen4_exp": {"text_config": _NGRAMS},
    "qwen4_exp_text": _NGRAMS,
    "recurrent_gemma": {"num_hidden_layers": 3},
    "causal-reformer": {**_REFORMER, "is_decoder": True},
    "masked-reformer": _REFORMER,
    "rwkv": {"rescale_every": 1},  # it divides weights of the second layer at its first call
    "vibevoice_asr": {
        f"{kind}_tokenizer_encoder_config": {"num_filters": 4, "depths": [1] * 7}
        for kind in ("acoustic", "semantic")
    },
    "xlstm": {"hidden_size": 2 * HIDDEN},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 4, "layers_block_type": ["linear_attention", "hybrid"] * 2},
    "zaya": {"num_experts_per_tok": 1},
}


def tiny_model(name: str) -> Any:
    """A random model in float32, of which each layer matters. ImportError: a package is missing."""
    cls, config = class_of(name), _tiny_config(name)
    if not isinstance(config, cls.config_class):
        # Heads of language models may take a part of the config, as that of the text.
        parts = [part for part in vars(config).values() if isinstance(part, cls.config_class)]
        config = parts[0] if parts else config
    torch.manual_seed(1)
    model = cls(config).eval()
    with torch.no_grad():
        for _, parameter in model.named_parameters():
            if parameter.ndim >= 2 and min(parameter.shape[-2:]) > 1:
                parameter.normal_(0, parameter.shape[-1] ** -0.5)
            elif parameter.numel() and bool((parameter == parameter.flatten()[0]).all()):
                parameter += torch.randn_like(parameter) / 10
    model.tie_weights()
    return model


def class_of(name: str) -> Any:
    head, _, kind = name.partition("-")
    return getattr(transformers, HEADS[head][kind])


def inputs_of(model: Any, name: str) -> dict[str, Any]:
    """The inputs of a model."""
    kind = name.partition("-")[2]
    ids = torch.arange(2 * TOKENS).reshape(2, TOKENS) * 7 % 90 + 5
    generator = torch.Generator().manual_seed(2)

    def random(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator)

    if kind.endswith("_assistant"):  # it continues another model's work
        states = random(2, 2, TOKENS, 16), random(2, 2, TOKENS, 16)
        return {
            "inputs_embeds": random(2, TOKENS, 2 * HIDDEN),
            "shared_kv_states": dict.fromkeys((_FULL, _SLIDING), states),
            "output_hidden_states": True,
        }
    given: dict[str, Any] = {"input_ids": ids}
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        given["decoder_input_ids"] = (ids + 3) % 90 + 5
    if kind == "blt":
        given["use_cache"] = False
    if kind == "voxtral_realtime":
        given["input_features"] = random(2, 128, 8 * TOKENS)
    return given


def _tiny_config(name: str) -> Any:
    kind = name.partition("-")[2]
    cls = CONFIG_MAPPING[kind]
    extra = EXTRA.get(name, EXTRA.get(kind, {}))
    try:
        usual = cls()
    except Exception:  # the usual one is refused by its own class
        return cls(**extra)
    return cls(**_merged(_small(usual), extra))


def _small(config: Any) -> dict[str, Any]:
    """Settings of a config's class that make it small."""
    cls, found = type(config), dict[str, Any]()
    names = {field.name for field in fields(cls)}
    aliases = {own: name for name, own in cls.attribute_map.items() if name in names and own not in names}
    kinds = {key: list(dict.fromkeys(getattr(config, key))) for key in _KINDS if vars(config).get(key)}
    layers = max([2, *map(len, kinds.values())])
    found |= {key: (its * layers)[:layers] for key, its in kinds.items() if key in names}
    special = VOCABULARY
    for own, value in vars(config).items():
        name = aliases.get(own, own)
        if isinstance(value, transformers.PretrainedConfig):
            found[name] = _small(value) | ({"model_type": value.model_type} if value.model_type else {})
        elif name == "head_dim" and value is None:
            found[name] = _SIZES[name]
        elif name not in names or type(value) is not int:
            continue
        elif name.endswith(("_token_id", "_token_index")):
            if value >= VOCABULARY - 10:
                special -= 1
                found[name] = _TOKENS.get(name, special)
        elif name in _LAYERS.split():
            found[name] = layers
        elif name == "num_key_value_heads" and "qk_rope_head_dim" in names:
            found[name] = _SIZES["num_attention_heads"]
        elif name in _SIZES:
            found[name] = _SIZES[name]
        elif "position" in name and value > LONGEST:
            found[name] = LONGEST
    return found


def _merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    both = {
        key: _merged(base[key], more[key]) for key in base.keys() & more.keys() if _are_maps(base, more, key)
    }
    return {**base, **more, **both}


def _are_maps(base: dict[str, Any], more: dict[str, Any], key: str) -> bool:
    return isinstance(base[key], dict) and isinstance(more[key], dict)
