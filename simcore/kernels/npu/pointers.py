"""Arrays as bare addresses.

An array that is passed from one compiled function to another takes seven words with it and has its
references counted, and each of its indices may count from its end. The kernels of the pipeline,
many small functions over two arrays, take half the time without all that.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import types
from numba.core.extending import intrinsic, overload

Array = TypeVar("Array")


def pointer(array: Array) -> Array:
    """The address of a contiguous *array*, which its caller holds; in plain Python a flat view."""
    return cast(Array, cast(Any, array).reshape(-1))


@overload(pointer)
def _pointer(array: Any) -> Callable[[Any], Any]:
    def compiled(array: Any) -> Any:
        return _address(array)  # type: ignore[call-arg]

    return compiled


@intrinsic
def _address(context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(array)(context, builder, arguments[0]).data

    return types.CPointer(array.dtype)(array), generate  # type: ignore[no-untyped-call]
