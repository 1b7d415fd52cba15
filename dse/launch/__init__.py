"""Launch files of training and serving tools, written from a design: one file for each tool."""

from dse.launch.base import Job, LaunchTool
from dse.launch.deepspeed import DeepSpeed
from dse.launch.maxtext import MaxText
from dse.launch.megatron import Megatron
from dse.launch.nemo import Nemo
from dse.launch.sglang import SgLang
from dse.launch.torchtitan import TorchTitan
from dse.launch.vllm import Vllm
from simcore import Registry

TOOLS: Registry[LaunchTool] = Registry(
    "a tool with launch files",
    {
        "megatron": Megatron(),
        "torchtitan": TorchTitan(),
        "deepspeed": DeepSpeed(),
        "nemo": Nemo(),
        "maxtext": MaxText(),
        "vllm": Vllm(),
        "sglang": SgLang(),
    },
)

__all__ = ["TOOLS", "Job", "LaunchTool"]
