"""Tokenizers of four families, trained on demand, and models of a few thousand parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CORPUS = [
    "The keys to the cabinet are on the table .",
    "The horse raced past the barn fell, and nobody saw it.",
    "What did the boy that the girl likes say? Nothing: she left; he stayed!",
    "Das Mädchen aß ein Stück Käsekuchen über dem Fluß.",
    "猫が 魚を 食べた。 我们 喜欢 语言 模型。",
    "नमस्ते दुनिया , यह एक वाक्य है ।",
    "smile 🙂 and family 👩‍👩‍👧 and flag 🇳🇴 and e\u0301 a\u0308 o\u0302.",
] * 3

FAMILIES = ("byte-bpe", "wordpiece", "unigram", "character")
SPECIALS = ["<unk>", "<s>", "</s>"]


def train(family: str, *, trim_offsets: bool = False) -> Any:
    """Train a `tokenizers.Tokenizer` of the family, with <unk>, <s> and </s> as the first three tokens."""
    from tokenizers import (
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    if family == "byte-bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer: Any = trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIALS, initial_alphabet=alphabet)
    elif family == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>", max_input_chars_per_word=50))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=SPECIALS)
    elif family == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
        trainer = trainers.UnigramTrainer(vocab_size=250, special_tokens=SPECIALS, unk_token="<unk>")
    else:
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
        trainer = trainers.BpeTrainer(vocab_size=2000, special_tokens=SPECIALS)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def fast(tokenizer: Any, *, bos: str | None = "<s>", eos: str | None = "</s>") -> Any:
    """Wrap a tokenizer for transformers."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, unk_token="<unk>"
    )


def gpt2(vocabulary: int, *, context: int = 256, seed: int = 1) -> Any:
    """Build a random GPT-2 with clearly uneven predictions."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=context,
        n_embd=16,
        n_layer=2,
        n_head=2,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.5,
    )
    return GPT2LMHeadModel(config).eval()


def llama(vocabulary: int, *, seed: int = 2) -> Any:
    """Build a random Llama: rotary positions, grouped keys, untied head."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=1,
        eos_token_id=2,
        initializer_range=0.5,
    )
    return LlamaForCausalLM(config).eval()


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    data = json.loads(path.read_text())
    data.update(changes)
    path.write_text(json.dumps(data))


def causal(name: str, vocabulary: int) -> Any:
    """Build a random model of another family, with clearly uneven predictions."""
    import torch
    import transformers as t

    torch.manual_seed(3)
    common = {
        "vocab_size": vocabulary,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    wide = {**common, "intermediate_size": 32, "initializer_range": 0.5}
    mistral = {**wide, "num_key_value_heads": 2}
    bloom = {"vocab_size": vocabulary, "hidden_size": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.5}
    local = {"attention_types": [[["global", "local"], 1]], "num_layers": 2, "num_heads": 2, "window_size": 4}
    makers: dict[str, Any] = {
        "gpt2": lambda: gpt2(vocabulary),
        "llama": lambda: llama(vocabulary),
        "neox": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**wide)),
        "opt": lambda: t.OPTForCausalLM(
            t.OPTConfig(**common, ffn_dim=32, word_embed_proj_dim=8, init_std=0.5)
        ),
        "mistral-narrow": lambda: t.MistralForCausalLM(t.MistralConfig(**mistral, sliding_window=4)),
        "mistral-wide": lambda: t.MistralForCausalLM(t.MistralConfig(**mistral, sliding_window=50)),
        "gemma2": lambda: t.Gemma2ForCausalLM(t.Gemma2Config(**mistral, head_dim=4, sliding_window=64)),
        "phi3-longrope": lambda: t.Phi3ForCausalLM(
            t.Phi3Config(
                **{**mistral, "max_position_embeddings": 256},
                original_max_position_embeddings=16,
                rope_parameters={
                    "rope_type": "longrope",
                    "rope_theta": 10000.0,
                    "short_factor": [1.0, 1.0],
                    "long_factor": [4.0, 8.0],
                    "original_max_position_embeddings": 16,
                },
            )
        ),
        "bloom": lambda: t.BloomForCausalLM(t.BloomConfig(**bloom)),
        "mamba": lambda: t.MambaForCausalLM(
            t.MambaConfig(vocab_size=vocabulary, hidden_size=16, num_hidden_layers=2, state_size=4)
        ),
        "gpt-neo-local": lambda: t.GPTNeoForCausalLM(
            t.GPTNeoConfig(**{**common, **local, "initializer_range": 0.5})
        ),
    }
    model = makers[name]().eval()
    model.config.get_text_config().use_cache = False
    return model


def framed(tokenizer: Any) -> Any:
    """Wrap a tokenizer as masked models do, with start and end tokens around a text, and a mask token."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        pad_token="<unk>",
    )


def gap_filler(name: str, vocabulary: int) -> Any:
    """Build a random BERT or a relative of RoBERTa with clearly uneven predictions, for texts of up to 64
    tokens."""
    import torch
    import transformers as t

    torch.manual_seed(4)
    shape: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
        "initializer_range": 0.5,
        "pad_token_id": 0,
    }
    kinds: dict[str, Any] = {
        "bert": lambda: t.BertForMaskedLM(t.BertConfig(**shape)),
        "roberta": lambda: t.RobertaForMaskedLM(t.RobertaConfig(**{**shape, "max_position_embeddings": 65})),
        "camembert": lambda: t.CamembertForMaskedLM(
            t.CamembertConfig(**{**shape, "max_position_embeddings": 65})
        ),
        "big_bird": lambda: t.BigBirdForMaskedLM(t.BigBirdConfig(**shape, block_size=2, num_random_blocks=1)),
        "fnet": lambda: t.FNetForMaskedLM(
            t.FNetConfig(**{name: value for name, value in shape.items() if name != "num_attention_heads"})
        ),
        # MPNet's padding id is 1 whatever its configuration.
        "mpnet": lambda: t.MPNetForMaskedLM(t.MPNetConfig(**{**shape, "max_position_embeddings": 66})),
    }
    return kinds[name]().eval()
