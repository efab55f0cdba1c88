"""A Llama with a byte-level BPE tokenizer as a GGUF file, as llama.cpp's converter writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def write(
    path: Path,
    model: Any,
    tokenizer: Any,
    *,
    quantised: str = "F32",
    architecture: str = "llama",
    more: Mapping[str, int | str] | None = None,
) -> Path:
    """Write a model and its tokenizer. `quantised`: a GGMLQuantizationType for matrices whose rows are
    multiples of 32; the others stay F32. `more`: other fields of the header."""
    import gguf

    config = model.config
    out = gguf.GGUFWriter(path, architecture)
    out.add_context_length(config.max_position_embeddings)
    out.add_embedding_length(config.hidden_size)
    out.add_block_count(config.num_hidden_layers)
    out.add_feed_forward_length(config.intermediate_size)
    out.add_head_count(config.num_attention_heads)
    out.add_head_count_kv(config.num_key_value_heads)
    out.add_layer_norm_rms_eps(config.rms_norm_eps)
    out.add_rope_dimension_count(config.head_dim)
    out.add_rope_freq_base(config.rope_parameters["rope_theta"])
    out.add_vocab_size(config.vocab_size)
    for key, value in (more or {}).items():
        out.add_key_value(key, value, gguf.GGUFValueType.get_type(value))
    _add_tokenizer(out, tokenizer)
    for name, weights in model.state_dict().items():
        values = weights.numpy().astype(np.float32)
        stem = name.removesuffix(".weight")
        if stem in WHOLE:
            new = WHOLE[stem]
        else:
            _, _, layer, rest = stem.split(".", 3)
            new = f"blk.{layer}.{NAMES[rest]}"
        if new.endswith("attn_q"):
            values = _rotary_order(values, config.num_attention_heads)
        elif new.endswith("attn_k"):
            values = _rotary_order(values, config.num_key_value_heads)
        kind = gguf.GGMLQuantizationType[quantised]
        if values.ndim == 2 and values.shape[1] % 32 == 0 and quantised != "F32":
            out.add_tensor(f"{new}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            out.add_tensor(f"{new}.weight", values)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


def _rotary_order(values: np.ndarray, heads: int) -> np.ndarray:
    """Reorder rows for llama.cpp, which rotates neighbouring pairs of rows; transformers rotates the two
    halves of a head."""
    pairs = values.reshape(heads, 2, values.shape[0] // heads // 2, values.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(values.shape))


def _add_tokenizer(out: Any, tokenizer: Any) -> None:
    saved = json.loads(tokenizer.backend_tokenizer.to_str())
    special = {row["content"] for row in saved["added_tokens"]}
    tokens = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in saved["model"]["merges"]]
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types([3 if token in special else 1 for token in tokens])
    out.add_token_merges(merges)
    out.add_bos_token_id(tokenizer.bos_token_id)
    out.add_eos_token_id(tokenizer.eos_token_id)
    out.add_unk_token_id(tokenizer.unk_token_id)
