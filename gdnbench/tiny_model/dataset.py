"""Writes the test problems: `python -m gdnbench.tiny_model.dataset --out datasets/word-problems`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gdnbench.tiny_model.manifest import write_manifest
from gdnbench.tiny_model.problems import as_jsonl, held_out_problems

FILE = "test.jsonl"
SOURCE = "written by gdnbench.tiny_model.problems from a fixed seed; no text of others"


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(as_jsonl(held_out_problems()))
    write_manifest(folder, SOURCE)


def main() -> None:
    parser = argparse.ArgumentParser(description="writes the word problems that the tiny GDN model is judged by")
    parser.add_argument("--out", type=Path, required=True)
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
