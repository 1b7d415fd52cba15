"""Experiment trackers that a running study is logged to, by name."""

from dse.trackers.base import Tracker
from dse.trackers.mlflow import MlflowTracker
from dse.trackers.wandb import WandbTracker
from simcore import Registry, class_of

TRACKERS: Registry[type[Tracker]] = Registry(
    "a tracker", {"mlflow": MlflowTracker, "wandb": WandbTracker}, adapt=class_of(Tracker)
)
