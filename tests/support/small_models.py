"""Models small enough to be followed node by node."""

from typing import Any

DLRM: dict[str, Any] = {
    "name": "small",
    "kind": "dlrm",
    "dense_features": 16,
    "bottom": [512, 64],
    "top": [512, 1],
    "width": 64,
    "tables": [{"count": 8, "rows": 1000, "pooling": 5}],
}
