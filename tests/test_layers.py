"""Imports point one way, and the layers that run on a bare GPU machine need nothing but torch and NumPy."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("values", "stats", "devices", "drivers", "oracle", "probes", "workloads", "plugin", "campaign", "serving")
LAYERS += ("accuracy", "gate", "ingest", "history", "conform", "nightly", "report", "dashboard", "cli")
ALONE = ("tiny_model",)  # packages that neither import another layer nor are imported by one
BARE = {"values": {"numpy"}, "stats": {"numpy"}}
BARE |= {layer: {"numpy", "torch"} for layer in ("devices", "drivers", "probes")}
TOUCHES_THE_WORLD = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "urllib"}

INSIDE_RELEASE_PROCESSES = {
    "gdnbench/tiny_model/answering.py",
    "gdnbench/plugin/patching.py",
    "gdnbench/serving/load_process.py",
}
"""Files beside the oracle that may import vLLM."""

FILES = sorted(path for package in ("gdnbench", "gdn_impl") for path in (ROOT / package).rglob("*.py"))
FILES += sorted((ROOT / "benchmarks").glob("*.py"))


def imports(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it, with full names."""
    return imported(path.read_text(encoding="utf-8"), path.relative_to(ROOT).parent.parts)


def imported(source: str, package: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def layer(path: Path) -> str | None:
    parts = path.relative_to(ROOT).parts
    return parts[1].removesuffix(".py") if parts[0] == "gdnbench" and len(parts) > 1 else None


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def outside(modules: set[str]) -> set[str]:
    """The third-party packages among them."""
    tops = {module.partition(".")[0] for module in modules}
    return tops - set(sys.stdlib_module_names) - {"gdnbench", "gdn_impl", "__future__"}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_layer_imports_only_what_stands_to_its_left(path):
    own = layer(path)
    if own not in LAYERS + ALONE:
        return
    theirs = {module.split(".")[1] for module in imports(path) if module.startswith("gdnbench.")}
    left = LAYERS[: LAYERS.index(own)] if own in LAYERS else ()
    wrong = {other for other in theirs if other in LAYERS + ALONE and other not in (own, *left)}
    assert not wrong, f"{own} imports {sorted(wrong)}"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_bare_layers_need_torch_and_numpy_alone(path):
    if path.is_relative_to(ROOT / "gdn_impl"):
        allowed = {"numpy", "torch"}
        assert not {module for module in imports(path) if module.startswith("gdnbench")}
    elif layer(path) in BARE:
        allowed = BARE[layer(path)]
    else:
        return
    assert outside(imports(path)) <= allowed


@pytest.mark.parametrize("path", FILES, ids=name)
def test_values_and_stats_touch_no_file_and_no_process(path):
    if layer(path) in ("values", "stats"):
        tops = {module.partition(".")[0] for module in imports(path)}
        assert not tops & TOUCHES_THE_WORLD
        calls = {node.func.id for node in ast.walk(ast.parse(path.read_text())) if is_call_by_name(node)}
        assert not calls & {"open", "print", "input"}


def is_call_by_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_only_what_runs_inside_release_processes_imports_vllm(path):
    if layer(path) != "oracle" and name(path) not in INSIDE_RELEASE_PROCESSES:
        assert "vllm" not in {module.partition(".")[0] for module in imports(path)}


def test_datasets_is_no_package():
    """With an __init__.py, `import datasets` in lm-eval and vLLM would find our folder."""
    assert not (ROOT / "datasets" / "__init__.py").exists()


def test_the_layers_are_the_packages_that_exist():
    packages = {path.parent.name for path in (ROOT / "gdnbench").glob("*/__init__.py")}
    assert packages <= {*LAYERS, *ALONE}


def test_the_reading_of_imports():
    source = "import a.b, vllm\nfrom gdnbench.values import x\ndef f():\n    from ..stats.paired import judge\n"
    package = ("gdnbench", "values")
    assert imported(source, package) == {"a.b", "vllm", "gdnbench.values.x", "gdnbench.stats.paired.judge"}
    assert outside({"vllm.v1", "os", "numpy", "gdnbench.values"}) == {"vllm", "numpy"}
