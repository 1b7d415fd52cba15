"""Memory that runs share."""

from simcore.engines.stages.workspace import Workspace


def test_the_same_memory_serves_every_run_that_fits() -> None:
    workspace = Workspace()
    large = workspace.words(5000)
    large[:] = 7
    small = workspace.words(3)
    small[:] = 1
    assert large[:4].tolist() == [1, 1, 1, 7]
    assert workspace.words(6000).size == 6000


def test_larger_arrays_than_the_limit_are_not_kept() -> None:
    workspace = Workspace(limit_bytes=80)
    kept, single = workspace.words(10), workspace.words(11)
    single[:] = 5
    kept[:] = 1
    assert workspace.words(11)[:10].tolist() == [0] * 10
    assert workspace.words(10).tolist() == [1] * 10


def test_memory_that_was_prepared_serves_the_first_run() -> None:
    workspace = Workspace()
    workspace.prepare()
    ready = workspace.words(1000)
    ready[:] = 3
    assert workspace.words(2**20)[:1000].tolist() == [3] * 1000
