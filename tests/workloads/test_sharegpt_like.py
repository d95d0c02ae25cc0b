"""Conversations of ours: as long as ShareGPT's, the same bytes for a seed, and chosen from like a file."""

from __future__ import annotations

import json
import math
import random
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from gdnbench.values.errors import EnvironmentMissing
from gdnbench.workloads import choose, generator
from gdnbench.workloads.generator import NAME, SharegptLike, draw_lengths
from gdnbench.workloads.tokens import Tokens

TOKENIZER = Path(__file__).parents[2] / "datasets" / "tiny-gdn"
LENGTHS = json.loads(resources.files("gdnbench.workloads").joinpath("sharegpt_lengths.json").read_text())
SAMPLE = 30_000


@pytest.fixture(scope="module")
def tokens() -> Tokens:
    return Tokens(TOKENIZER)


def correlation_of_logs(pairs) -> float:
    return float(np.corrcoef(np.log(pairs), rowvar=False)[0, 1])


def test_drawn_lengths_have_the_measured_distribution() -> None:
    chance = random.Random(5)
    drawn = np.array([draw_lengths(LENGTHS, chance) for _ in range(SAMPLE)])
    for column, name in enumerate(("prompt", "output")):
        measured = LENGTHS[f"{name}_tokens"]
        for percent, expected in zip(LENGTHS["percent"], measured, strict=True):
            found = float(np.percentile(drawn[:, column], percent))
            if percent not in (0, 100):
                assert math.isclose(found, expected, rel_tol=0.05, abs_tol=1), (name, percent)
        assert math.isclose(drawn[:, column].mean(), LENGTHS[f"mean_{name}"], rel_tol=0.03)
        assert drawn[:, column].min() >= measured[0] and drawn[:, column].max() <= measured[-1]
    assert drawn.sum(axis=1).max() <= 2048
    assert abs(correlation_of_logs(drawn) - LENGTHS["log_correlation"]) < 0.02


def test_texts_have_the_measured_lengths_in_the_tokenizers_own_tokens(tokens: Tokens) -> None:
    pool = SharegptLike(tokens.count)[:1000]
    pairs = np.array([(tokens.count(one.prompt), tokens.count(one.answer)) for one in pool])
    for column, name in enumerate(("prompt", "output")):
        assert math.isclose(pairs[:, column].mean(), LENGTHS[f"mean_{name}"], rel_tol=0.08)
        for percent, expected in zip(LENGTHS["percent"][2:-2], LENGTHS[f"{name}_tokens"][2:-2], strict=True):
            assert math.isclose(np.percentile(pairs[:, column], percent), expected, rel_tol=0.2, abs_tol=3)
    assert abs(correlation_of_logs(pairs) - LENGTHS["log_correlation"]) < 0.07
    assert pairs.min() >= 4 and pairs.sum(axis=1).max() <= 2048
    assert all(one.prompt.isascii() and one.prompt == one.prompt.strip() for one in pool)


def test_a_tokenizer_of_another_kind_gets_its_lengths_too(tmp_path: Path) -> None:
    """Here every letter is a token, words are joined by a mark, and one special token is added."""
    letters = {letter: at for at, letter in enumerate(["?", "<s>", "\u2581", *map(chr, range(33, 127))])}
    tokenizer = Tokenizer(models.BPE(letters, [], unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    count = Tokens(tmp_path).count
    chance = f"{NAME} 1 0 "
    for index, one in enumerate(SharegptLike(count)[:200]):
        drawn = draw_lengths(LENGTHS, random.Random(f"{chance}{index}"))
        assert (count(one.prompt), count(one.answer)) == drawn


def test_one_seed_gives_the_same_bytes(tokens: Tokens, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.json", "two.json", "other.json")]
    for path, seed in zip(paths, (4, 4, 5), strict=True):
        SharegptLike(tokens.count, seed, 60).write(path)
    one, two, other = (path.read_bytes() for path in paths)
    assert one == two != other
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_what_is_written_is_what_is_chosen_from(tokens: Tokens, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "like.json"
    monkeypatch.setattr(generator, "CONVERSATIONS", 400)
    SharegptLike(tokens.count, generator.SEED, 400).write(path)
    for output_len in (None, 300):
        made = choose(None, TOKENIZER, seed=3, prompts=50, output_len=output_len)
        read = choose(path, TOKENIZER, seed=3, prompts=50, output_len=output_len)
        assert made.requests == read.requests and made.identity["counts"] == read.identity["counts"]
        assert made.identity["sha256"] == read.identity["sha256"]
    assert made.identity["dataset"]["name"] == NAME == "sharegpt-like"
    assert made.warnings == () and made.identity["counts"]["entries"] == 400


def test_limits_apply_to_what_is_made(tokens: Tokens) -> None:
    chosen = choose(None, TOKENIZER, seed=0, prompts=50, output_len=300, max_prompt=100)
    assert chosen.identity["counts"]["entries"] == 10_000
    assert chosen.identity["counts"]["prompt_too_long"] > 10
    assert max(one.prompt_len for one in chosen.requests) <= 100


def test_prompts_differ(tokens: Tokens) -> None:
    pool = SharegptLike(tokens.count)[:1000]
    assert len({one.prompt for one in pool}) > 995


def test_a_directory_that_takes_no_file(tokens: Tokens, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentMissing, match=r"cannot write .*out\.json"):
        SharegptLike(tokens.count, 0, 2).write(tmp_path / "file" / "out.json")
