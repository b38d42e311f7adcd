"""Whatever the bytes of a trace become: a result that can be, or one sentence; never another exception or a hang.

A mutant that fails is written beside the test's other files; ``mutant(NUMBER, seeds())`` makes it again.
"""

from pathlib import Path

import pytest

from tests.fuzz.mutating import mutants
from tests.fuzz.running import Hang, outcome
from tests.fuzz.seeds import seeds
from tracelens_tui.analysis.model import Analysis

TOGETHER = 50
FAST = 500
ALL = 10_000
HELPED = 50  # of each hundred the one that another process decodes


def run(folder: Path, first: int, count: int) -> None:
    path = folder / "mutant.json"
    for number, data in mutants(first, count):
        path.write_bytes(data)
        try:
            stretch, helped = 1 << 20 if number % 2 else 700, number % 100 == HELPED
            outcome(path, stretch=stretch, helpers=helped, thorough=number % 10 == 0)
        except (Exception, Hang) as error:
            raise AssertionError(f"mutant {number}, see {path}") from error


@pytest.mark.parametrize("first", range(0, FAST, TOGETHER))
def test_mutants_give_a_result_or_a_sentence(tmp_path: Path, first: int):
    run(tmp_path, first, TOGETHER)


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(FAST, ALL, 5 * TOGETHER))
def test_many_mutants_give_a_result_or_a_sentence(tmp_path: Path, first: int):
    run(tmp_path, first, min(5 * TOGETHER, ALL - first))


def test_the_seeds_are_sound(tmp_path: Path):
    """Every unchanged seed gives events, all but those of JAX; else the mutants would test nothing but refusals."""
    path = tmp_path / "seed.json"
    refused = 0
    for data in seeds():
        path.write_bytes(data)
        refused += not isinstance(outcome(path, stretch=1 << 20), Analysis)
    assert refused == 5


def test_mutants_are_the_same_every_time():
    assert list(mutants(3, 20)) == list(mutants(3, 20))
    assert len({data for _, data in mutants(0, 200)}) > 180
