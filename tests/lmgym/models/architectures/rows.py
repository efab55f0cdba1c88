"""The registry: one row per architecture of transformers, with its smallest configuration."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.lmgym.models import tiny

TREES = "trees"
BATCHES = "batches"
EQUAL = "batches of equal length"
ALONE = "one at a time"
REFUSED = "refused"
ABSENT = "not tested"
CONTEXT = 128
WINDOW = 8
WIDE = 48
"""Window in tokens, wider than every probe of `tree_support` and narrower than the longest text of a trial."""

_SIZES: dict[str, Any] = {
    "hidden_size n_embd d_model dim emb_dim embedding_size embedding_dim attention_hidden_size lru_width "
    "input_embedding_size output_embedding_size word_embed_proj_dim": 32,
    "num_hidden_layers n_layer n_layers num_layers decoder_layers encoder_layers num_blocks": 2,
    "num_attention_heads n_head n_heads num_heads decoder_attention_heads encoder_attention_heads attention_heads": 4,
    "num_key_value_heads num_kv_heads": 2,
    "head_dim dim_head kv_channels d_head attention_head_size attention_head_dim qk_nope_head_dim v_head_dim "
    "linear_key_head_dim linear_value_head_dim linear_head_dim": 8,
    "intermediate_size ffn_dim ffn_hidden_size dff dim_ff hidden_dim d_inner decoder_ffn_dim encoder_ffn_dim "
    "feed_forward_size intermediate_size_mlp dense_intermediate_size prefix_dense_intermediate_size": 64,
    "moe_intermediate_size shared_expert_intermediate_size shared_intermediate_size expert_ffn_hidden_size "
    "shared_experts_intermediate_size moe_shared_expert_intermediate_size": 16,
    "num_experts num_local_experts n_routed_experts moe_num_experts": 4,
    "num_experts_per_tok moe_k moe_topk top_k_experts index_n_heads o_groups": 2,
    "n_group topk_group n_shared_experts num_shared_experts moe_num_shared_experts": 1,
    "max_position_embeddings n_positions n_ctx max_seq_len context_length max_target_positions": CONTEXT,
    "sliding_window sliding_window_size attention_window_size window_size local_attention attention_chunk_size": WINDOW,
    "kv_lora_rank q_lora_rank o_lora_rank mamba_d_head mamba_head_dim mamba_chunk_size chunk_size": 16,
    "qk_rope_head_dim index_head_dim rotary_dim linear_num_key_heads linear_num_value_heads linear_num_heads "
    "mamba_n_heads mamba_num_heads n_mamba_heads": 4,
    "mamba_d_state state_size ssm_state_size": 8,
    "mamba_d_ssm": 64,
    "mamba_n_groups n_groups mamba_ngroups": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SMALL = {name: value for names, value in _SIZES.items() for name in names.split()}
"""Default settings of all rows. A row uses those that the configuration of its model type has."""
VOCABULARY = ("vocab_size", "vocab_size_per_layer_input", "unpadded_vocab_size", "output_vocab_size")


@dataclass(frozen=True)
class Row:
    """One architecture.

    Attributes:
        way: how LM Gym runs its texts (see `trial.way`), "refused", or "not tested" = it cannot be built here.
        settings: values that differ from SMALL.
        kind: backend: "causal" or "masked".
        name: name in the table; default: the model type.
        special: remark in the table, in addition to those derived from the settings.
        refusal: part of the message with which LM Gym refuses the model.
        saving: arguments of save_pretrained.
        make_tokenizer: function that builds the tokenizer; None = byte-level BPE.
        noise: standard deviation of the noise that is added to weights.
        reference: dtype of the reference; float32 if transformers cannot run the model in float64.
        bare: the folder has no model, because transformers cannot build this class from its configuration.
    """

    model_type: str
    way: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "causal"
    name: str = ""
    special: str = ""
    refusal: str = ""
    saving: Mapping[str, Any] = field(default_factory=dict)
    make_tokenizer: Callable[[], Any] | None = None
    noise: float = 0.25
    reference: str = "float64"
    bare: bool = False

    @property
    def title(self) -> str:
        """Name of the row in the table, unique within its kind."""
        return self.name or self.model_type

    @property
    def key(self) -> tuple[str, str]:
        """Kind and title, which identify the row."""
        return self.kind, self.title

    def tokenizer(self) -> Any:
        """Build the tokenizer, wrapped for transformers."""
        if self.make_tokenizer is not None:
            return self.make_tokenizer()
        raw = tiny.train("byte-bpe")
        return tiny.framed(raw) if self.kind == "masked" else tiny.fast(raw)

    def config(self, vocabulary: int) -> dict[str, Any]:
        """Return the values of SMALL that this model type has, and the row's own settings."""
        from transformers import CONFIG_MAPPING

        settings = _small(CONFIG_MAPPING[self.model_type], vocabulary)
        for name, value in self.settings.items():
            part = settings.get(name)
            settings[name] = {**part, **value} if isinstance(part, dict) else value
        return settings


def _small(cls: Any, vocabulary: int) -> dict[str, Any]:
    """Return the values of SMALL that a class of configurations and its parts have."""
    from transformers import CONFIG_MAPPING

    names = {each.name for each in dataclasses.fields(cls)}
    settings = {name: value for name, value in SMALL.items() if name in names}
    settings.update((name, vocabulary) for name in VOCABULARY if name in names)
    if "kv_lora_rank" in names:  # latent attention derives the width of its heads and shares no keys
        settings.pop("head_dim", None)
        settings["num_key_value_heads"] = settings["num_attention_heads"]
    for name, part in cls.sub_configs_defaults.items():
        if not part.optional:
            kind = part.model_type
            settings[name] = _small(CONFIG_MAPPING[kind] if kind else part.config_class, vocabulary)
            settings[name].update({"model_type": kind} if kind else {})
    return settings


def _with_added_tokens() -> Any:
    tokenizer = tiny.train("byte-bpe")
    tokenizer.add_tokens(["cabinet", "Käsekuchen"])
    return tiny.fast(tokenizer)


def _with_byte_fallback() -> Any:
    """Build a tokenizer of ASCII characters, with bytes for all others."""
    from tokenizers import Tokenizer

    data = json.loads(tiny.train("character").to_str())
    known = [token for token in data["model"]["vocab"] if token.isascii()]
    vocabulary = {token: at for at, token in enumerate([*known, *(f"<0x{byte:02X}>" for byte in range(256))])}
    data["model"].update(vocab=vocabulary, merges=[], byte_fallback=True)
    return tiny.fast(Tokenizer.from_str(json.dumps(data)))


def _without_start() -> Any:
    return tiny.fast(tiny.train("byte-bpe"), bos=None, eos=None)


_DECODER = {"is_decoder": True}
_DECODER_HALF = {"is_decoder": True, "is_encoder_decoder": False}
_LAYERS = ["sliding_attention", "full_attention"]
_ROPE = {"rope_type": "default", "rope_theta": 10000.0}


def _rope(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {**_ROPE, "rope_type": kind, **more}}


_PLAIN = {
    TREES: """apertus apertus1p5_text arcee aria_text biogpt bitnet codegen cohere ctrl diffllama ernie4_5 ernie4_5_moe
        exaone flex_olmo gemma glm glm4 glm4_moe gpt-sw3 gpt2 gpt_bigcode gpt_neox gptj granite granitemoe
        granitemoeshared helium hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax internlm3 iquestcoder jais2
        jetmoe lfm2 llama minimax_m2 minimax_m3_vl_text nanochat nemotron olmo olmo2 olmoe opt persimmon phi qwen2
        qwen2_moe qwen3 qwen3_moe sarvam_moe seed_oss solar_open stablelm""",
    f"{TREES} up to {WINDOW} tokens": "dots1 laguna mellum smollm3",
    BATCHES: """afmoe bailing_hybrid bamba cohere2 cohere2_moe cwm deepseek_v4 doge exaone4 exaone_moe
        falcon_h1 falcon_mamba flint gemma2 gemma3_text gemma4_unified_text git gpt_neox_japanese gpt_oss granite_swa
        granitemoe_swa granitemoehybrid hy_v4 inkling_text jamba kimi_linear kolibri1 lara_mini lfm3 llama4_text mamba
        mimo_v2_flash minimax ministral ministral3 mistral mixtral modernbert-decoder nemotron_h olmo3 olmo_hybrid
        openai-gpt phi3 phimoe qwen3_5_text qwen3_next qwen4_exp_text recurrent_gemma rwkv starcoder2 vaultgemma
        xlstm""",
}
_DECODERS = {
    TREES: "bert bert-generation electra ernie roc_bert",
    BATCHES: """big_bird camembert data2vec-text megatron-bert rembert roberta roberta-prelayernorm roformer
        xlm-roberta xlm-roberta-xl""",
}
_HALVES = "bart bigbird_pegasus blenderbot blenderbot-small marian mbart mvp pegasus plbart trocr whisper"
_MASKED = {
    BATCHES: """albert bert big_bird camembert data2vec-text deberta deberta-v2 distilbert electra ernie esm
        eurobert gte ibert jina_embeddings_v3 layoutlm megatron-bert modernbert mpnet nomic_bert
        rembert roberta roberta-prelayernorm roc_bert roformer squeezebert tapas ultrabert xlm-roberta
        xlm-roberta-xl""",
    EQUAL: "convbert flaubert fnet mobilebert nystromformer xlm yoso",
}


def _listed(names: Mapping[str, str], **more: Any) -> Iterator[Row]:
    for way, listed in names.items():
        for name in listed.split():
            yield Row(name, way, **more)


_MLA = "axk1 deepseek_v2 deepseek_v3 glm4_moe_lite minicpm3 sarvam_mla youtu"
_TEXT = "its text part"
_NOT_CAUSAL = "is not a causal language model"
_SWA = {
    "swa_num_attention_heads": 4,
    "swa_num_key_value_heads": 2,
    "swa_head_dim": 8,
    "d_rel": 4,
    "rel_extent": 16,
}
_PER_LAYER = {"layer_types": _LAYERS, "hidden_size_per_layer_input": 8}
_REFORMER = {
    "attn_layers": ["local", "lsh"],
    "axial_pos_shape": [8, CONTEXT // 8],
    "axial_pos_embds_dim": [8, 24],
}
_REFORMER_LOCAL = {**_REFORMER, "attn_layers": ["local", "local"], "local_attn_chunk_length": WINDOW}
_HASHES = "texts of up to 64 tokens, above which its attention is random"
_GLOBAL = {"hidden_size_global": 32}
_BLT = {
    "encoder_hash_byte_group_vocab": 50,
    "patching_threshold": 4.0,
    "encoder_config": _GLOBAL,
    "decoder_config": _GLOBAL,
}
_DOTS3 = {"num_key_value_heads": 4, "head_dim": 12}
_DOTS3_NOTE = {
    "text_config": _DOTS3,
    "vision_config": {"mlp_layer_types": ["dense", "dense"], "adapter_in_dim": 32, "adapter_out_dim": 32},
    "audio_config": {"adapter_input_size": 32, "adapter_out_dim": 32},
}
_DRAFT = {
    "text_config": {
        "hidden_size_per_layer_input": 0,
        "vocab_size_per_layer_input": 0,
        "num_kv_shared_layers": 2,
    }
}
_DBRX = {
    "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0},
    "ffn_config": {"hidden_size": 32, "ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2},
}
_LONGROPE = {
    **_rope("longrope", short_factor=[1.0] * 4, long_factor=[4.0] * 4, original_max_position_embeddings=16),
    "original_max_position_embeddings": 16,
    "sliding_window": None,
}

ROWS: tuple[Row, ...] = (
    *_listed(_PLAIN),
    *_listed({TREES: _MLA, BATCHES: "axk2 deepseek_v32 glm_moe_dsa"}),
    Row("bloom", BATCHES, special="ALiBi"),
    Row("mpt", BATCHES, special="ALiBi"),
    Row("falcon", BATCHES),
    Row("falcon", BATCHES, {"alibi": True}, name="falcon, alibi", special="ALiBi"),
    Row("dbrx", TREES, _DBRX, special="mixture of experts"),
    Row(
        "xglm", BATCHES, reference="float32", special="compared in float32, since its mask cannot be float64"
    ),
    Row("dory", BATCHES, noise=0.1),
    Row("qwen3_5_moe_text", BATCHES, noise=0.1),
    Row("gpt_neo", BATCHES, {"attention_types": [[["global", "local"], 1]]}),
    Row("dots3_note_text", BATCHES, _DOTS3),
    Row(
        "cohere_compass_text",
        BATCHES,
        {"layer_types": _LAYERS, "rope_parameters": dict.fromkeys(_LAYERS, _ROPE)},
    ),
    Row("gemma3n_text", BATCHES, {**_PER_LAYER, "num_kv_shared_layers": 0, "laurel_rank": 8}),
    Row("gemma4_text", BATCHES, {**_PER_LAYER, "global_head_dim": 8}),
    Row("inkling2_text", BATCHES, _SWA),
    Row("inkling2_loop_text", BATCHES, _SWA),
    Row("lfm2_moe", BATCHES, {"layer_types": ["conv", "full_attention"]}),
    Row("zaya", BATCHES, {"num_experts_per_tok": 1}),
    Row("beam", BATCHES, {"layer_types": _LAYERS, "mlp_layer_types": ["dense", "sparse"]}),
    Row("blt", BATCHES, _BLT, special="bytes in patches"),
    Row("longcat_flash", TREES, {"zero_expert_num": 2, "head_dim": 4}),
    Row("mamba2", BATCHES, {"num_heads": 8}),
    Row(
        "zamba",
        BATCHES,
        {
            "layers_block_type": ["linear_attention", "hybrid", "hybrid"],
            "num_hidden_layers": 3,
            "attention_hidden_size": 64,
            "attention_head_dim": 16,
            "n_mamba_heads": 2,
        },
    ),
    Row("zamba2", BATCHES, {"layers_block_type": ["linear_attention", "hybrid"], "adapter_rank": 8}),
    Row("reformer", BATCHES, {**_DECODER, **_REFORMER}, special=_HASHES),
    Row(
        "reformer",
        BATCHES,
        {**_DECODER, **_REFORMER_LOCAL},
        name="reformer, local",
        special="chunks of 8 tokens",
    ),
    # Models that also read images or sound, on text
    *_listed(
        {
            TREES: "emu3 fuyu moss_transcribe_diarize",
            f"{TREES} up to {WINDOW} tokens": "moshi",
            BATCHES: """gemma3 gemma4 gemma4_unified got_ocr2 llama4 phi4_multimodal qwen3_5 qwen3_5_moe qwen4_exp""",
        },
        special=_TEXT,
        noise=0.1,
    ),
    Row("dots3_note", BATCHES, _DOTS3_NOTE, special=_TEXT),
    Row(
        "mllama",
        TREES,
        {"text_config": {"num_hidden_layers": 3, "cross_attention_layers": [1]}},
        special=_TEXT,
    ),
    *_listed(_DECODERS, settings=_DECODER, special="as a decoder"),
    Row("xmod", BATCHES, {**_DECODER, "default_language": "en_XX"}, special="as a decoder"),
    *_listed({BATCHES: _HALVES}, settings=_DECODER_HALF, special="the decoder alone"),
    # Windows wider than the probes: texts that fit are scored in trees, longer ones in batches.
    *(
        Row(name, f"{TREES} up to {WIDE} tokens", {"sliding_window": WIDE}, name=f"{name}, window {WIDE}")
        for name in ("mistral", "mixtral", "starcoder2", "gemma3_text", "olmo3", "cohere2")
    ),
    # Rotary positions
    Row(
        "phi3",
        f"{TREES} up to 16 tokens",
        _LONGROPE,
        name="phi3, longrope",
        special="longrope from 16 tokens",
    ),
    Row("llama", TREES, _rope("linear", factor=4.0), name="llama, linear", special="linear scaling"),
    Row(
        "llama",
        TREES,
        _rope("yarn", factor=4.0, original_max_position_embeddings=32),
        name="llama, yarn",
        special="yarn",
    ),
    Row(
        "llama",
        TREES,
        _rope(
            "llama3",
            factor=8.0,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
            original_max_position_embeddings=32,
        ),
        name="llama, llama3",
        special="rotary positions of Llama 3",
    ),
    # Weights and tokenizers
    Row(
        "llama",
        TREES,
        {"tie_word_embeddings": True},
        name="llama, tied",
        special="head tied to the embeddings",
    ),
    Row("gpt2", TREES, {"tie_word_embeddings": False}, name="gpt2, untied", special="head of its own"),
    Row(
        "llama",
        TREES,
        name="llama, sharded",
        saving={"max_shard_size": "30KB"},
        special="weights in several files",
    ),
    Row(
        "llama", TREES, name="llama, added tokens", make_tokenizer=_with_added_tokens, special="added tokens"
    ),
    Row(
        "llama",
        TREES,
        {"max_position_embeddings": 2 * CONTEXT},
        name="llama, bytes",
        make_tokenizer=_with_byte_fallback,
        special="byte fallback",
    ),
    Row("gpt2", TREES, name="gpt2, no BOS", make_tokenizer=_without_start, special="no start token"),
    *_listed(_MASKED, kind="masked"),
    Row("esmc", BATCHES, {"num_key_value_heads": 4}, kind="masked"),
    Row("xmod", BATCHES, {"default_language": "en_XX"}, kind="masked"),
    Row("funnel", EQUAL, {"block_sizes": [1, 1]}, kind="masked", special="pools tokens"),
    Row(
        "funnel",
        EQUAL,
        {"block_sizes": [1, 1], "truncate_seq": False},
        kind="masked",
        name="funnel, not truncated",
        special="pools tokens",
    ),
    Row(
        "funnel",
        EQUAL,
        {"block_sizes": [1, 1], "separate_cls": False},
        kind="masked",
        name="funnel, start token not separate",
        special="pools tokens",
    ),
    Row("luke", BATCHES, {"entity_vocab_size": 10, "entity_emb_size": 8}, kind="masked"),
    Row("neomme", BATCHES, {"head_dim": 16}, kind="masked", special=_TEXT),
    *_listed({BATCHES: "modernvbert ultravbert"}, kind="masked", special=_TEXT),
    Row(
        "perceiver",
        BATCHES,
        {
            "d_latents": 32,
            "num_latents": 8,
            "qk_channels": 32,
            "v_channels": 32,
            "num_self_attends_per_block": 1,
            "num_self_attention_heads": 4,
            "num_cross_attention_heads": 4,
        },
        kind="masked",
    ),
    Row("reformer", BATCHES, _REFORMER, kind="masked", special=_HASHES),
    Row(
        "reformer",
        BATCHES,
        _REFORMER_LOCAL,
        kind="masked",
        name="reformer, local",
        special="chunks of 8 tokens",
    ),
    Row("longformer", BATCHES, {"attention_window": [8, 8]}, kind="masked", special="window of 8 tokens"),
    # Refused
    Row("bert", REFUSED, refusal=_NOT_CAUSAL, name="bert, not a decoder", special="sees words on both sides"),
    Row("cpmant", REFUSED, refusal="see later tokens", special="its tokens see later ones"),
    Row(
        "prophetnet", REFUSED, _DECODER_HALF, refusal="see later tokens", special="its tokens see later ones"
    ),
    Row("xlnet", REFUSED, refusal="see later tokens", special="its tokens see later ones"),
    Row("xlm", REFUSED, refusal=_NOT_CAUSAL, special="sees words on both sides"),
    *(
        Row(
            name,
            REFUSED,
            _DRAFT,
            refusal=f"{name} .* cannot read token ids alone",
            special="drafts for another model",
        )
        for name in ("gemma4_assistant", "gemma4_unified_assistant")
    ),
    *(
        Row(name, REFUSED, refusal="is an encoder-decoder", bare=True, special="encoder-decoder of sound")
        for name in ("musicgen", "musicgen_melody")
    ),
    *(
        Row(name, REFUSED, kind="masked", refusal="is not a masked language model", special="encoder-decoder")
        for name in ("bart", "mbart", "mvp")
    ),
    Row(
        "mra",
        REFUSED,
        kind="masked",
        refusal="mra .* ignores the context of a token",
        special="without its CUDA kernel, its attention is zero",
    ),
    Row("gemma3n", ABSENT, special="its vision part needs the package timm; its text part is gemma3n_text"),
)

FAMILIES = (
    "gpt2",
    "llama",
    "llama, bytes",
    "mistral",
    "gemma3_text, window 48",
    "phi3, longrope",
    "mamba",
    "rwkv",
    "jamba",
    "mixtral",
    "deepseek_v3",
    "opt",
    "bloom",
    "gpt_neox",
    "roberta",
    "bert",
    "fnet",
    "funnel, not truncated",
    "reformer, local",
    "prophetnet",
)
"""Titles of the rows that are tested on every change: one for each family. The others are marked `long`."""
