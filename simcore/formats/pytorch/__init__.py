"""PyTorch's host execution traces and Kineto device traces, and their conversion to Chakra."""
