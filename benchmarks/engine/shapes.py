"""Models of well-known shapes with random weights from a fixed seed."""

from __future__ import annotations

from typing import Any

from benchmarks.engine.workload import VOCABULARY

CAUSAL = ("gpt2", "llama", "neox", "opt", "llama-8b", "tiny")
SHAPES = (*CAUSAL, "bert")


def build(shape: str, device: str = "cpu", dtype: str = "float32", seed: int = 0) -> Any:
    """GPT-2 small; a Llama, GPT-NeoX (Pythia 160M), OPT (125M) or BERT-base of about that size; a Llama of 8 B;
    or something tiny, to try things out."""
    import torch
    import transformers as t

    torch.manual_seed(seed)
    layers = {"num_hidden_layers": 12, "num_attention_heads": 12}
    common = {"vocab_size": VOCABULARY, "hidden_size": 768, **layers}
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
        "llama-8b": lambda: t.LlamaForCausalLM(
            t.LlamaConfig(
                vocab_size=128256,
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
