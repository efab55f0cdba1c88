"""The demo's small transformer: tokenizer, training, files. torch is imported only inside functions."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym.demo.grammar import Dice

END = "<|endoftext|>"


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters; with the corpus and library versions they determine the weights."""

    seed: int = 512
    vocabulary: int = 1024
    positions: int = 512
    width: int = 64
    layers: int = 3
    heads: int = 4
    dropout: float = 0.0
    epochs: float = 3.0
    batch: int = 32  # sentences
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    warmup: float = 0.05  # share of the steps
    shifted: float = 0.2  # share of the batches that start at a random position
    packed: float = 0.05  # share of the batches that are rows of many sentences, to train all positions
    packed_length: int = 512
    packed_rows: int = 4


def train_tokenizer(texts: Sequence[str], recipe: Recipe) -> Any:
    """Train byte-level BPE over all 256 bytes, so that any text can be encoded."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def batches(rows: Sequence[Sequence[int]], recipe: Recipe, end: int) -> Iterator[tuple[list[list[int]], int]]:
    """Yield (rows of equal length, first position) endlessly, one pass over the sentences after another. A share
    `packed` of the batches is replaced by rows of many random sentences."""
    dice = Dice(recipe.seed)
    by_length: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        by_length.setdefault(len(row), []).append(k)
    while True:
        plan: list[list[int]] = []
        for members in by_length.values():
            order = dice.shuffled(members)
            plan += [order[a : a + recipe.batch] for a in range(0, len(order), recipe.batch)]
        for chosen in dice.shuffled(plan):
            if dice.chance(recipe.packed):
                out = []
                for _ in range(recipe.packed_rows):
                    line: list[int] = [end]
                    while len(line) < recipe.packed_length:
                        line += rows[dice.below(len(rows))][1:]
                    out.append(line[: recipe.packed_length])
                yield out, 0
            else:
                batch = [list(rows[k]) for k in chosen]
                free = recipe.positions - len(batch[0])
                yield batch, dice.below(free + 1) if dice.chance(recipe.shifted) else 0


def steps_of(rows: Sequence[Sequence[int]], recipe: Recipe) -> int:
    counts: dict[int, int] = {}
    for row in rows:
        counts[len(row)] = counts.get(len(row), 0) + 1
    return int(recipe.epochs * sum(math.ceil(n / recipe.batch) for n in counts.values()))


def train(texts: Sequence[str], recipe: Recipe, say: Callable[[str], None]) -> tuple[Any, Any]:
    """Train and return (model, tokenizer), on one core so that results are reproducible."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.set_num_threads(1)
    torch.manual_seed(recipe.seed)
    tokenizer = train_tokenizer(texts, recipe)
    end = tokenizer.token_to_id(END)
    rows = [[end, *encoding.ids, end] for encoding in tokenizer.encode_batch(list(texts))]
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=tokenizer.get_vocab_size(),
            n_positions=recipe.positions,
            n_embd=recipe.width,
            n_layer=recipe.layers,
            n_head=recipe.heads,
            resid_pdrop=recipe.dropout,
            embd_pdrop=recipe.dropout,
            attn_pdrop=recipe.dropout,
            bos_token_id=end,
            eos_token_id=end,
        )
    )
    model.train()
    decay = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": decay, "weight_decay": recipe.weight_decay}, {"params": plain, "weight_decay": 0.0}],
        lr=recipe.learning_rate,
        betas=(0.9, 0.98),
    )
    steps = steps_of(rows, recipe)
    warm = max(1, int(steps * recipe.warmup))
    started, running = time.monotonic(), 0.0
    parameters = sum(p.numel() for p in model.parameters())
    say(f"{parameters} parameters, vocabulary {tokenizer.get_vocab_size()}, {steps} steps")
    for step, (batch, first) in zip(range(steps), batches(rows, recipe, end), strict=False):
        turn = math.pi * max(step - warm, 0) / (steps - warm)
        rate = min((step + 1) / warm, 0.5 * (1 + math.cos(turn)))
        for group in optimiser.param_groups:
            group["lr"] = recipe.learning_rate * max(rate, 0.01)
        ids = torch.tensor(batch)
        positions = torch.arange(first, first + ids.shape[1]).unsqueeze(0)
        logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        running += float(loss.detach())
        if (step + 1) % 200 == 0:
            say(f"step {step + 1}: {running / 200:.4f} nats per token, {time.monotonic() - started:.0f} s")
            running = 0.0
    model.eval()
    return model, tokenizer


def save(model: Any, tokenizer: Any, directory: Path, recipe: Recipe) -> None:
    """Write a folder for transformers: safetensors weights, tokenizer.json, configuration."""
    from transformers import PreTrainedTokenizerFast

    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    model.save_pretrained(directory, safe_serialization=True)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=END, eos_token=END, model_max_length=recipe.positions
    ).save_pretrained(directory)
    for path in directory.iterdir():
        path.chmod(0o644)
