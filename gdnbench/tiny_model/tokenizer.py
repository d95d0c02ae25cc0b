"""The model's tokenizer: byte-level BPE over any text, a token for every digit.

Each of the 256 bytes is a token, so nothing is unknown to it; merges are learned from word problems. Digits stand
alone, so that the model sees numbers place by place.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from gdnbench.tiny_model.problems import Problem, completion, prompt, training_problems

VOCABULARY = 1024
END = "<|endoftext|>"
PADDING = "<|padding|>"
MAX_TOKENS = 8192
"""The longest text that the model's configuration allows."""

_LEARN_FROM = 20_000


def learn() -> Tokenizer:
    """The tokenizer, learned from the first training problems; the same in every run."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END, PADDING],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(islice(training_problems(), _LEARN_FROM)), trainer)
    return tokenizer


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Writes tokenizer.json and tokenizer_config.json, which transformers and vLLM read."""
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PADDING,
        model_max_length=MAX_TOKENS,
        clean_up_tokenization_spaces=False,
    ).save_pretrained(folder)


def _texts(problems: Iterable[Problem]) -> Iterable[str]:
    for problem in problems:
        yield prompt(problem.question)
        yield completion(problem)
