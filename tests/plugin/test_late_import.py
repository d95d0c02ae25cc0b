"""Waiting for a module without importing it."""

from __future__ import annotations

import importlib
import sys

import pytest

from gdnbench.plugin.late_import import when_imported


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with two modules; whatever was imported of it is forgotten afterwards."""
    folder = tmp_path / "awaited_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "awaited.py").write_text("value = 1\n")
    (folder / "other.py").write_text("")
    (folder / "broken.py").write_text("raise RuntimeError('broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    yield "awaited_package"
    sys.meta_path[:] = finders
    for name in [name for name in sys.modules if name.startswith("awaited_package")]:
        del sys.modules[name]


def test_it_is_done_once_right_after_the_import(package):
    seen = []
    name = f"{package}.awaited"
    when_imported(name, lambda: seen.append(sys.modules[name].value))
    importlib.import_module(f"{package}.other")
    assert seen == [] and name not in sys.modules
    module = importlib.import_module(name)
    assert seen == [1]
    assert type(module.__loader__).__name__ == type(module.__spec__.loader).__name__ == "SourceFileLoader"
    importlib.reload(module)
    assert seen == [1]


def test_a_module_that_is_there_need_not_be_waited_for(package):
    importlib.import_module(f"{package}.awaited")
    seen = []
    finders = list(sys.meta_path)
    when_imported(f"{package}.awaited", lambda: seen.append(1))
    assert seen == [1] and sys.meta_path == finders


def test_what_goes_wrong_goes_to_whoever_imports(package):
    def fail():
        raise LookupError("no settings")

    when_imported(f"{package}.awaited", fail)
    with pytest.raises(LookupError, match="no settings"):
        importlib.import_module(f"{package}.awaited")


def test_a_module_that_fails_or_is_missing_fails_as_ever(package):
    seen = []
    when_imported(f"{package}.broken", lambda: seen.append(1))
    with pytest.raises(RuntimeError, match="broken"):
        importlib.import_module(f"{package}.broken")
    when_imported(f"{package}.missing", lambda: seen.append(1))
    with pytest.raises(ModuleNotFoundError, match="missing"):
        importlib.import_module(f"{package}.missing")
    assert seen == []
