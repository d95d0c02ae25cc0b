"""The committed model is whole, small, described by its card, and its tokenizer knows every byte and no two digits."""

import json
from pathlib import Path

from gdnbench.tiny_model.card import card
from gdnbench.tiny_model.check import ACCURACY, broken_promises
from gdnbench.tiny_model.manifest import sha256

FOLDER = Path(__file__).parents[2] / "datasets" / "tiny-gdn"
MAX_BYTES = 6_000_000


def loaded(name: str):
    return json.loads((FOLDER / name).read_text())


def test_the_manifest_describes_every_file() -> None:
    files = loaded("manifest.json")["files"]
    assert set(files) == {path.name for path in FOLDER.iterdir()} - {"manifest.json"}
    for name, entry in files.items():
        assert (FOLDER / name).stat().st_size == entry["bytes"], name
        assert sha256(FOLDER / name) == entry["sha256"], name


def test_the_weights_are_small_and_in_bf16_and_hold_a_head_of_their_own() -> None:
    weights = FOLDER / "model.safetensors"
    assert weights.stat().st_size <= MAX_BYTES
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    header.pop("__metadata__")
    assert {entry["dtype"] for entry in header.values()} == {"BF16"}
    assert {"mtp.fc.weight", "mtp.norm.weight", "mtp.pre_fc_norm_embedding.weight"} <= set(header)
    assert {"mtp.pre_fc_norm_hidden.weight", "mtp.layers.0.self_attn.q_proj.weight", "lm_head.weight"} <= set(header)


def test_the_configuration_is_what_the_server_needs() -> None:
    config = loaded("config.json")
    assert config["architectures"] == ["Qwen3NextForCausalLM"]
    assert config["layer_types"] == ["linear_attention"] * 3 + ["full_attention"]
    assert config["num_nextn_predict_layers"] == 1
    assert config["tie_word_embeddings"] is False
    assert 0 not in config["mlp_only_layers"]


def test_the_tokenizer_knows_every_byte_and_joins_no_digits() -> None:
    vocabulary = loaded("tokenizer.json")["model"]["vocab"]
    single = [token for token in vocabulary if len(token) == 1]
    assert len(single) == 256
    with_digits = [token for token in vocabulary if any(sign.isdigit() and sign.isascii() for sign in token)]
    assert sorted(with_digits) == list("0123456789")


def test_the_card_says_what_was_measured_and_the_model_keeps_its_promises() -> None:
    found = loaded("check.json")
    assert (FOLDER / "README.md").read_text() == card(FOLDER)
    assert broken_promises(found) == []
    assert ACCURACY[0] <= found["accuracy"] <= ACCURACY[1]
    assert found["stopped"] == 1.0


def test_the_training_log_ends_with_a_low_loss_and_names_no_machine() -> None:
    log = (FOLDER / "training.log").read_text()
    assert "/" not in log.replace("s/step", "")
    losses = {line.split()[0]: float(line.split()[4]) for line in log.splitlines()}
    assert losses["model"] < 0.2
    assert losses["head"] < 2.0
