"""The large traces, generated once for all tests of this package."""

from dataclasses import dataclass

import pytest

from tests.evals import reading
from tracelens_tui.evals.article import SPREAD_MEAN, write_article
from tracelens_tui.evals.llama_step import write_llama_step
from tracelens_tui.evals.planted import Planted


@dataclass(frozen=True)
class Generated:
    planted: Planted
    document: dict


def _generated(planted: Planted) -> Generated:
    return Generated(planted, reading.load(planted.path))


@pytest.fixture(scope="session")
def llama(tmp_path_factory) -> Generated:
    return _generated(write_llama_step(tmp_path_factory.mktemp("llama") / "step.json.gz"))


@pytest.fixture(scope="session")
def article(tmp_path_factory) -> Generated:
    return _generated(write_article(tmp_path_factory.mktemp("article") / "article.json.gz"))


@pytest.fixture(scope="session")
def varied(tmp_path_factory) -> Generated:
    return _generated(write_article(tmp_path_factory.mktemp("article") / "varied.json.gz", varied=True))


@pytest.fixture(scope="session")
def spread(tmp_path_factory) -> Generated:
    path = tmp_path_factory.mktemp("article") / "spread.json.gz"
    return _generated(write_article(path, varied=True, mean_percent=SPREAD_MEAN))
