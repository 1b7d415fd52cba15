"""Arithmetic on columns of numbers in which whole numbers neither wrap nor lose digits.

Whole numbers are int64 where the results are known to fit, and Python's own integers, in an array
of objects, where they may not. Numbers with a point, and what a division or a logarithm gives, are
floating point; where a whole number meets one, it is one if that is exact. NaN stands for what
has no value, such as a division by zero.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Column = np.ndarray
_Binary = Callable[[Any, Any], Any]

_MOST = 2**63 - 1
_MOST_EXACT = 2**53
"""Whole numbers up to it are exact as floats."""


def column_of(values: object) -> Column:
    """*values* as an array; whole numbers beyond 64 bits stay what they are."""
    items = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(item, int) and abs(item) > _MOST for item in items):
        return np.array(values, object)
    return np.asarray(values)


def is_defined(value: Column) -> Column:
    """True where *value* is not NaN."""
    if value.dtype.kind in "fO":
        return np.asarray(value == value)
    return np.asarray(True)


def truth(value: Column) -> Column:
    """True where *value* is defined, neither 0 nor false."""
    return np.asarray(np.logical_and(value.astype(bool), is_defined(value)))


def add(left: Column, right: Column) -> Column:
    """The sum."""
    return _counted(operator.add, left, right, operator.add)


def subtract(left: Column, right: Column) -> Column:
    """The difference."""
    return _counted(operator.sub, left, right, operator.add)


def multiply(left: Column, right: Column) -> Column:
    """The product."""
    return _counted(operator.mul, left, right, operator.mul)


def divide(left: Column, right: Column) -> Column:
    """The quotient, as a float; NaN where *right* is 0."""
    left, right = _numbers(left), _numbers(right)
    if max(_most(left), _most(right)) > _MOST_EXACT:
        left, right = left.astype(object), right.astype(object)
    return _over(operator.truediv, left, right)


def floor_divide(left: Column, right: Column) -> Column:
    """The quotient, rounded down; NaN where *right* is 0."""
    return _over(operator.floordiv, *_alike(_numbers(left), _numbers(right)))


def remainder(left: Column, right: Column) -> Column:
    """Remainder of a division rounded down, signed as *right*; NaN where *right* is 0."""
    return _over(operator.mod, *_alike(_numbers(left), _numbers(right)))


def absolute(value: Column) -> Column:
    """The number without its sign."""
    return np.asarray(np.abs(_numbers(value)))


def least(left: Column, right: Column) -> Column:
    """The smaller one; NaN where either is."""
    return _chosen(np.minimum, left, right)


def greatest(left: Column, right: Column) -> Column:
    """The larger one; NaN where either is."""
    return _chosen(np.maximum, left, right)


def ceil(value: Column) -> Column:
    """The least whole number that is not smaller."""
    return _rounded(np.ceil, math.ceil, value)


def floor(value: Column) -> Column:
    """The greatest whole number that is not larger."""
    return _rounded(np.floor, math.floor, value)


def log2(value: Column) -> Column:
    """The logarithm: minus infinity at 0, NaN below."""
    value = _numbers(value)
    if value.dtype.kind != "O":
        return np.asarray(np.log2(value))
    return _each(lambda one: math.log2(one) if one > 0 else float(np.log2(float(one))), value)


def compare(apply: _Binary, left: Column, right: Column) -> Column:
    """Comparison of the two by *apply*."""
    return np.asarray(apply(*_alike(left, right)))


def differs(left: Column, right: Column) -> Column:
    """True where both have values that are not equal."""
    return np.asarray(compare(operator.ne, left, right) & _both_defined(left, right))


def choose(test: Column, chosen: Column, other: Column) -> Column:
    """*chosen* where *test* holds, *other* elsewhere."""
    return np.asarray(np.where(truth(test), *_alike(chosen, other)))


def _both_defined(left: Column, right: Column) -> Column:
    return np.asarray(np.logical_and(is_defined(left), is_defined(right)))


def _numbers(value: Column) -> Column:
    """Flags count as 0 and 1."""
    return value.astype(np.int64) if value.dtype.kind == "b" else value


def _most(value: Column) -> int:
    """The largest magnitude of whole numbers; 0 of others, and of those without a bound."""
    if value.dtype.kind != "i" or not value.size:
        return 0
    return max(-int(value.min()), int(value.max()))


def _alike(left: Column, right: Column) -> tuple[Column, Column]:
    """The two as they can be compared and chosen from without losing digits."""
    kinds = {left.dtype.kind, right.dtype.kind}
    if kinds == {"i", "f"} and max(_most(left), _most(right)) > _MOST_EXACT:
        return left.astype(object), right.astype(object)
    return left, right


def _counted(
    apply: _Binary, left: Column, right: Column, most: Callable[[int, int], int]
) -> Column:
    """The result of *apply*, whose magnitude is at most what *most* makes of the two largest."""
    left, right = _alike(_numbers(left), _numbers(right))
    if left.dtype.kind == right.dtype.kind == "i" and most(_most(left), _most(right)) > _MOST:
        left, right = left.astype(object), right.astype(object)
    return _finite(apply(left, right), left, right)


def _over(apply: _Binary, left: Column, right: Column) -> Column:
    zero = compare(operator.eq, right, np.asarray(0))
    if not zero.any():
        return _finite(apply(left, right), left, right)
    nowhere = np.where(zero, np.ones_like(right), right)
    found = _finite(apply(left, nowhere), left, nowhere)
    return np.asarray(np.where(zero, *_alike(np.asarray(np.nan), found)))


def _finite(found: object, left: Column, right: Column) -> Column:
    """*found*, unless finite numbers gave an infinite one.

    Raises:
        OverflowError: They did.
    """
    result = column_of(found)
    if _is_infinite(result) and not _is_infinite(left) and not _is_infinite(right):
        raise OverflowError("beyond the range of floating point")
    return result


def _is_infinite(value: Column) -> bool:
    if value.dtype.kind == "f":
        return bool(np.isinf(value).any())
    if value.dtype.kind == "O":
        return any(isinstance(one, float) and math.isinf(one) for one in value.flat)
    return False


def _chosen(apply: _Binary, left: Column, right: Column) -> Column:
    left, right = _alike(_numbers(left), _numbers(right))
    result = column_of(apply(left, right))
    if result.dtype.kind != "O":
        return result
    return np.where(_both_defined(left, right), result, np.nan)


def _rounded(quick: Callable[[Any], Any], exact: Callable[[float], int], value: Column) -> Column:
    value = _numbers(value)
    if value.dtype.kind == "i":
        return value
    if value.dtype.kind == "f" and (np.abs(value) <= _MOST_EXACT).all():
        return np.asarray(quick(value)).astype(np.int64)
    return _each(
        lambda one: exact(one) if isinstance(one, int) or math.isfinite(one) else one, value
    )


def _each(apply: Callable[[Any], Any], value: Column) -> Column:
    items = [apply(one) for one in value.ravel().tolist()]
    return np.array(items, object).reshape(value.shape)
