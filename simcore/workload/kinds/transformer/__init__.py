"""The transformer: its model, what one NPU holds of it, its rules and its residual blocks."""
