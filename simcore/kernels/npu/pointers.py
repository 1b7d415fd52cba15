"""Arrays as bare addresses.

An array that is passed from one compiled function to another takes seven words with it and has its
references counted, and each of its indices may count from its end. The kernels of the pipeline,
many small functions over two arrays, take half the time without all that. Tables of a number of
arrays, such as the programs of many designs, tell their addresses as numbers.
"""

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import types
from numba.core.extending import intrinsic, overload
from numpy.typing import NDArray

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


def address_of(array: NDArray[Any]) -> int:
    """The address of a contiguous *array*, which whoever uses it holds."""
    return int(array.__array_interface__["data"][0])


def words_at(address: int, count: int) -> NDArray[np.int64]:
    """The *count* int64 at an address; in plain Python as an array."""
    return _view(ctypes.c_int64, int(address), int(count))


def shorts_at(address: int, count: int) -> NDArray[np.int32]:
    """The *count* int32 at an address; in plain Python as an array."""
    return _view(ctypes.c_int32, int(address), int(count))


def _view(kind: Any, address: int, count: int) -> NDArray[Any]:
    if count == 0:
        return np.zeros(0, kind)
    return np.ctypeslib.as_array((kind * count).from_address(address))


@overload(words_at)
def _words_at(address: Any, count: Any) -> Callable[[Any, Any], Any]:
    def compiled(address: Any, count: Any) -> Any:
        return _as_words(address)  # type: ignore[call-arg]

    return compiled


@overload(shorts_at)
def _shorts_at(address: Any, count: Any) -> Callable[[Any, Any], Any]:
    def compiled(address: Any, count: Any) -> Any:
        return _as_shorts(address)  # type: ignore[call-arg]

    return compiled


@intrinsic
def _as_words(context: Any, address: Any) -> Any:
    return _as(types.CPointer(types.int64))  # type: ignore[no-untyped-call]


@intrinsic
def _as_shorts(context: Any, address: Any) -> Any:
    return _as(types.CPointer(types.int32))  # type: ignore[no-untyped-call]


def _as(kind: Any) -> Any:
    """Signature and code of a number taken for an address of a *kind*."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(kind))

    return kind(types.int64), generate
