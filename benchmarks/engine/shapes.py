"""Models of well-known shapes, with random weights from a fixed seed."""

from __future__ import annotations

from typing import Any

from benchmarks.engine.workload import VOCABULARY

CAUSAL = ("gpt2", "gpt2-xl", "llama", "neox", "opt", "smollm2", "gemma3", "llama-7b", "llama-8b", "tiny")
SHAPES = (*CAUSAL, "bert")
WORDS = {"smollm2": 49_152, "gemma3": 262_144, "llama-8b": 128_256}
"""Vocabulary sizes other than GPT-2's."""


def tokenizer_size(shape: str) -> int:
    """Return the size of the benchmark's tokenizer for a shape, whose model may have fewer words than GPT-2."""
    return min(VOCABULARY, WORDS.get(shape, VOCABULARY))


def build(
    shape: str, device: str = "cpu", dtype: str = "float32", seed: int = 0, *, small: bool = False
) -> Any:
    """Build GPT-2 small or XL; a Llama, GPT-NeoX (Pythia 160M), OPT (125M) or BERT-base of about the size of GPT-2
    small; SmolLM2 135M; Gemma 3 270M; a Llama with 7 or 8 B parameters; or a tiny model. `small`: two layers of 64
    features, for quick trials.
    """
    import torch
    import transformers as t

    torch.manual_seed(seed)
    deep, heads, wide = (2, 4, 64) if small else (12, 12, 768)
    layers = {"num_hidden_layers": deep, "num_attention_heads": heads}
    common = {"vocab_size": VOCABULARY, "hidden_size": wide, **layers}
    gpt2 = {"n_layer": deep, "n_head": heads, "n_embd": wide}
    xl = gpt2 if small else {"n_layer": 48, "n_head": 25, "n_embd": 1600}
    seven = common | (
        {} if small else {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32}
    )
    smollm2 = common | (
        {"num_key_value_heads": 2, "intermediate_size": 128}
        if small
        else {
            "vocab_size": WORDS["smollm2"],
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
        }
    )
    gemma3 = common | (
        {"num_key_value_heads": 2, "intermediate_size": 128, "head_dim": 32}
        if small
        else {
            "vocab_size": WORDS["gemma3"],
            "hidden_size": 640,
            "intermediate_size": 2048,
            "num_hidden_layers": 18,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "head_dim": 256,
        }
    )
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    makers: dict[str, Any] = {
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=VOCABULARY, **gpt2, **ends)),
        "gpt2-xl": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=VOCABULARY, **xl, **ends)),
        "llama": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(
                **common, intermediate_size=2048 * wide // 768, max_position_embeddings=2048, **ends
            )
        ),
        "neox": lambda: t.GPTNeoXForCausalLM(
            t.GPTNeoXConfig(**common, intermediate_size=4 * wide, rotary_pct=0.25, **ends)
        ),
        "opt": lambda: t.OPTForCausalLM(
            t.OPTConfig(**common, ffn_dim=4 * wide, word_embed_proj_dim=wide, **ends)
        ),
        "smollm2": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(
                **smollm2,
                max_position_embeddings=8192,
                rms_norm_eps=1e-5,
                rope_parameters={"rope_type": "default", "rope_theta": 1e5},
                tie_word_embeddings=True,
                **ends,
            )
        ),
        "gemma3": lambda: t.Gemma3ForCausalLM(
            t.Gemma3TextConfig(**gemma3, max_position_embeddings=32_768, sliding_window=512, **ends)
        ),
        "bert": lambda: t.BertForMaskedLM(t.BertConfig(**common, intermediate_size=4 * wide, pad_token_id=0)),
        "llama-7b": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(
                **seven, intermediate_size=128 if small else 11008, max_position_embeddings=4096, **ends
            )
        ),
        "llama-8b": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(
                vocab_size=WORDS["llama-8b"],
                hidden_size=4096,
                intermediate_size=14336,
                num_hidden_layers=32,
                num_attention_heads=32,
                num_key_value_heads=8,
                max_position_embeddings=8192,
                **ends,
            )
        ),
        "tiny": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(
                vocab_size=VOCABULARY,
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                **ends,
            )
        ),
    }
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            model = makers[shape]().eval()
    finally:
        torch.set_default_dtype(before)
    model.config.use_cache = False
    return model
