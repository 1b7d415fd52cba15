"""Stages that go ahead of each other do not miss a message that comes before their next event.

In this design a stage that waits for one neighbour sends to the other before anything of its own
ends: who takes its next event for the earliest thing that it does books some time elsewhere.
"""

import numpy as np
import yaml

from simcore import RunTemplate
from simcore.compute import COMPUTE_MODELS
from simcore.engines.iteration import IterationRunner
from simcore.files.resources import shipped_folder
from simcore.workload import build_graph

VALUES = {
    **{"plan.tp": 4, "plan.cp": 4, "plan.pp": 32, "plan.dp": 32, "plan.micro_batch": 2},
    **{"plan.interleave": 1, "plan.recompute": "full", "plan.zero_stage": 3},
    **{"plan.sequence_parallel": False, "system.chunks": 16, "system.scheduling": "lifo"},
    "platform.dimensions[0].npus": 16,
    "platform.dimensions[1].npus": 256,
    "platform.dimensions[2].npus": 4,
    "platform.dimensions[0].topology": "switch",
    "platform.dimensions[0].bandwidth": "450 GB/s",
    "platform.dimensions[1].bandwidth": "100 GB/s",
    "platform.dimensions[2].bandwidth": "12.5 GB/s",
    "system.all_reduce": ["double_binary_tree"] * 3,
}


def test_many_stages_that_share_their_streams_book_what_every_node_books() -> None:
    study = yaml.safe_load((shipped_folder("studies") / "llama3_405b_16384.yaml").read_text())
    run = RunTemplate.from_table(study["run"]).with_values(VALUES)
    runner = IterationRunner(run.platform, run.system, COMPUTE_MODELS[run.compute]())
    ours = runner.run(run.workload, run.plan)
    every = runner.run_graph(build_graph(run.workload, run.plan))
    np.testing.assert_array_equal(ours.finish_ns, every.finish_ns)
    np.testing.assert_array_equal(ours.booked_ns, every.booked_ns)
