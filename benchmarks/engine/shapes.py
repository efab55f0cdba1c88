"""Models of well-known shapes with random weights from a fixed seed."""

from __future__ import annotations

from typing import Any

from benchmarks.engine.workload import VOCABULARY

CAUSAL = ("gpt2", "llama", "neox", "opt")


def build(shape: str, seed: int = 0) -> Any:
    """GPT-2 small, or a Llama, GPT-NeoX (Pythia 160M), OPT (125M) or BERT-base of about that size."""
    import torch
    import transformers as t

    torch.manual_seed(seed)
    common = {
        "vocab_size": VOCABULARY,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
    }
    ends = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    makers: dict[str, Any] = {
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=VOCABULARY, **ends)),
        "llama": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(**common, intermediate_size=2048, max_position_embeddings=2048, **ends)
        ),
        "neox": lambda: t.GPTNeoXForCausalLM(
            t.GPTNeoXConfig(**common, intermediate_size=3072, rotary_pct=0.25, **ends)
        ),
        "opt": lambda: t.OPTForCausalLM(t.OPTConfig(**common, ffn_dim=3072, word_embed_proj_dim=768, **ends)),
        "bert": lambda: t.BertForMaskedLM(t.BertConfig(**common, intermediate_size=3072, pad_token_id=0)),
    }
    model = makers[shape]().eval()
    model.config.use_cache = False
    return model
