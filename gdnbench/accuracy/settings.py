"""The settings in a results file of lm-eval: what must be the same on both sides, and what may differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def setting_of(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    """What must be the same for two scores of a task to be comparable."""
    config = mapping(results.get("config"))
    task_config = mapping(mapping(results.get("configs")).get(task))
    return {
        "task": task,
        "version": mapping(results.get("versions")).get(task),
        "n_shot": mapping(results.get("n-shot")).get(task),
        "fewshot_seed": config.get("fewshot_seed"),
        "limit": config.get("limit"),
        "chat_template": results.get("chat_template_sha") or results.get("chat_template"),
        "system_prompt": results.get("system_instruction_sha") or results.get("system_instruction"),
        "multiturn": results.get("fewshot_as_multiturn"),
        "generation": {**_arguments(task_config.get("generation_kwargs")), **_arguments(config.get("gen_kwargs"))},
        "template": [task_config.get(name) for name in ("doc_to_text", "doc_to_target", "fewshot_delimiter")],
        "filters": task_config.get("filter_list"),
    }


def listed_of(results: Mapping[str, Any]) -> dict[str, Any]:
    """What may differ between two scores, and a reader should see."""
    config = mapping(results.get("config"))
    found: dict[str, Any] = {
        "lm_eval": results.get("lm_eval_version"),
        "transformers": results.get("transformers_version"),
        "model": config.get("model"),
        "batch_size": config.get("batch_size"),
        "seeds": [config.get(name) for name in ("random_seed", "numpy_seed", "torch_seed")],
        "max_length": results.get("max_length"),
    }
    for name, value in _arguments(config.get("model_args")).items():
        if name not in _OF_THE_MOMENT:
            found[f"model argument {name}"] = value
    return found


_OF_THE_MOMENT = ("base_url",)
"""Arguments that tell where a server listened; no two runs have the same."""


def _arguments(given: Any) -> dict[str, Any]:
    """Arguments as lm-eval keeps them: an object, or one text such as `temperature=0,top_p=1`."""
    if isinstance(given, str):
        pairs = (part.partition("=") for part in given.split(",") if "=" in part)
        given = {name.strip(): value.strip() for name, _, value in pairs}
    return {str(name): value for name, value in mapping(given).items()}


def mapping(value: Any) -> Mapping[str, Any]:
    """What should be an object, and nothing where it is none: the file is from outside."""
    return value if isinstance(value, dict) else {}
