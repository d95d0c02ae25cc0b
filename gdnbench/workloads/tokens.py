"""Lengths in tokens, as vLLM's benchmark counts them: special tokens that the tokenizer adds are part of the length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gdnbench.values.errors import EnvironmentMissing, UserError
from gdnbench.workloads.manifests import sha256

FILE = "tokenizer.json"


class Tokens:
    """A tokenizer, for counting.

    Attributes:
        name: of its directory.
        sha256: of its `tokenizer.json`.
    """

    def __init__(self, directory: Path) -> None:
        """Loads `directory/tokenizer.json`.

        Raises:
            UserError: there is none, or it is no tokenizer.
            EnvironmentMissing: the library `tokenizers` is not installed.
        """
        try:
            from tokenizers import Tokenizer
        except ImportError:
            raise EnvironmentMissing("the library tokenizers is missing: pip install tokenizers") from None
        file = directory / FILE
        if not file.is_file():
            raise UserError(f"no {FILE} in {directory}: name the directory of a model or tokenizer that has one")
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises nothing narrower
            raise UserError(f"{file} is no tokenizer: {error}") from None
        # A file may ask for cutting and padding; called as vLLM calls it, a tokenizer does neither.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = directory.resolve().name
        self.sha256 = sha256(file)

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text).ids)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The same for many at once, on all cores."""
        return [len(encoding.ids) for encoding in self._tokenizer.encode_batch_fast(list(texts))]
