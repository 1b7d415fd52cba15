"""Convolutional nets that are trained data parallel."""

from simcore.workload.kinds.cnn.net import ConvolutionalNet, LayerGroup, LayerRowFile
from simcore.workload.kinds.cnn.workload import CnnWorkload

__all__ = ["CnnWorkload", "ConvolutionalNet", "LayerGroup", "LayerRowFile"]
