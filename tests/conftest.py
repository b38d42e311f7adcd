"""Fixtures that every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine must not fail a test
settings.load_profile("untimed")

for _name in [name for name in os.environ if name.startswith("TEXTUAL")] + ["NO_COLOR", "COLORTERM"]:
    if _name == "TEXTUAL_SNAPSHOT_TEMPDIR":  # the snapshot plugin's own, handed to the workers of xdist
        continue
    os.environ.pop(_name, None)  # a developer's terminal settings must not change what a snapshot looks like
os.environ.update(TEXTUAL_ANIMATIONS="none", TZ="UTC")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces and oracle tables beside the repository; the test skips where it is absent."""
    folder = ROOT.parent / "shared"
    if not (folder / "traces").is_dir():
        pytest.skip("the folder ../shared with real traces is not here")
    return folder


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test out of the user's cache, state and configuration folders."""
    home = tmp_path_factory.mktemp("home")
    for variable, name in (("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config")):
        monkeypatch.setenv(variable, str(home / name))
    monkeypatch.delenv("TRACELENS_TUI_CACHE", raising=False)
    return home


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Bytes give no part of a test's name: they may hold the time of their packing, and all processes must agree."""
    return argname if isinstance(val, bytes) else None
