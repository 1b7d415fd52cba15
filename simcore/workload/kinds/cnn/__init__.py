"""Convolutional nets that are trained data parallel."""

from simcore.workload.kinds.cnn.net import ConvolutionalNet, LayerGroup
from simcore.workload.kinds.cnn.row import Row
from simcore.workload.kinds.cnn.workload import CnnWorkload

__all__ = ["CnnWorkload", "ConvolutionalNet", "LayerGroup", "Row"]
