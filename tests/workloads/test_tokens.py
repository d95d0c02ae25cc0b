"""Lengths in tokens are those of a tokenizer called as vLLM's benchmark calls it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from gdnbench.values.errors import UserError
from gdnbench.workloads.manifests import sha256
from gdnbench.workloads.tokens import Tokens


def test_special_tokens_count_and_what_the_file_says_of_cutting_and_padding_does_not(tmp_path: Path) -> None:
    tokenizer = Tokenizer(models.WordLevel({"?": 0, "<s>": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=10)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    tokens = Tokens(tmp_path)
    assert [tokens.count(text) for text in ("", "a b", "a b c d e f")] == [1, 3, 7]
    assert tokens.counts(["", "a b", "a b c d e f"]) == [1, 3, 7]
    assert (tokens.name, tokens.sha256) == (tmp_path.name, sha256(tmp_path / "tokenizer.json"))


def test_what_is_no_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no tokenizer\.json in"):
        Tokens(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match=r"tokenizer\.json is no tokenizer"):
        Tokens(tmp_path)
