"""What the tests of workloads share: a tokenizer that counts words, and files of conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """A directory with a tokenizer for which every word is one token."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    directory = tmp_path / "words"
    directory.mkdir()
    tokenizer.save(str(directory / "tokenizer.json"))
    return directory


@pytest.fixture
def sharegpt(tmp_path: Path) -> Callable[[list[Any]], Path]:
    """Writes entries as a ShareGPT file."""

    def write(entries: list[Any]) -> Path:
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps(entries), "utf-8")
        return path

    return write


@pytest.fixture
def said() -> Callable[..., dict[str, Any]]:
    """An entry whose turns have so many words each."""

    def entry(
        *lengths: int, roles: tuple[str, ...] = ("human", "gpt", "human", "gpt"), tag: str = "w"
    ) -> dict[str, Any]:
        turns = [
            {"from": role, "value": " ".join([tag] * length)} for role, length in zip(roles, lengths, strict=False)
        ]
        return {"id": tag, "conversations": turns}

    return entry
