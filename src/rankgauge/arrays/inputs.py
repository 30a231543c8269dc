"""What a program holds as an array, in any library → numpy. No library is imported that the caller has not imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import FormatError, InputError

if TYPE_CHECKING:
    from rankgauge.dtypes import Array

__all__ = ["array_of", "is_nested", "numbers_of"]

KEPT = (np.dtype(np.float32), np.dtype(np.float64))  # their order is the order of the numbers; no need to widen them
EXACT = 2**53  # whole numbers beyond it are not all 64-bit floats


def array_of(given: Any, what: str) -> Array:
    """Lists, numpy, torch (detached, on the host), jax, pandas and polars as a numpy array, a view where possible."""
    if isinstance(given, (str, bytes, dict)) or given is None:
        raise InputError(f"{what} is {_shown(given)}; expected an array or a list of numbers")
    if isinstance(given, np.ma.MaskedArray):
        raise InputError(f"{what} is a masked array; give its data and mask=~{what}.mask")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(given, torch.Tensor):
        return _of_torch(given, what, torch)
    if isinstance(given, Iterator):
        given = list(given)
    try:
        found = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:
        if torch is not None and isinstance(given, (list, tuple)) and any(isinstance(e, torch.Tensor) for e in given):
            return array_of([array_of(e, what) if isinstance(e, torch.Tensor) else e for e in given], what)
        raise InputError(f"{what} is {_shown(given)}, which is no array: {error}") from None
    if found.dtype.kind == "V" and found.dtype.names is None:  # bfloat16 and 8-bit floats, as jax has them
        return found.astype(np.float32)
    return found


def _of_torch(given: Any, what: str, torch: Any) -> Array:
    """A tensor on the host; floats that numpy has not (bfloat16, 8-bit) become 32-bit, which holds them exactly."""
    if given.is_nested:
        raise InputError(
            f"{what} is a nested tensor; give a list of tensors, {what}.unbind(), or pad it and give a mask"
        )
    if given.layout != torch.strided:
        raise InputError(f"{what} is a sparse tensor; make it dense: {what}.to_dense()")
    tensor = given.detach().cpu()
    known = (torch.float16, torch.float32, torch.float64)
    if tensor.is_floating_point() and tensor.dtype not in known:
        tensor = tensor.to(torch.float32)
    return np.asarray(tensor.numpy())


def numbers_of(given: Any, what: str) -> Array:
    """The same, of floats or whole numbers that 64-bit floats hold exactly."""
    found = array_of(given, what)
    if found.dtype.kind == "O":
        return _of_objects(found, what)
    if found.dtype.kind not in "biuf":
        raise FormatError(f"{what} has elements of type {found.dtype}; expected numbers")
    wide = found.dtype.kind in "iu" and found.dtype.itemsize == 8 and found.size > 0
    if wide and (int(found.max()) > EXACT or int(found.min()) < -EXACT):
        raise FormatError(f"{what} has whole numbers beyond 2^53, which 64-bit floats cannot tell apart")
    return found if found.dtype in KEPT or found.dtype.kind in "iu" else found.astype(np.float64)


def _of_objects(found: Array, what: str) -> Array:
    """Python numbers of any kind, and missing values, which become NaN."""
    flat = found.ravel()
    wrong = next((each for each in flat.tolist() if isinstance(each, (str, bytes)) or np.ndim(each)), None)
    if wrong is not None:
        raise FormatError(f"{what} has the element {wrong!r}; expected numbers")
    try:
        return found.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{what} has an element that is no number: {error}") from None


def is_nested(given: Any) -> bool:
    """Whether this is a list of sequences (or a column of lists) rather than of numbers."""
    if isinstance(given, np.ndarray):
        return given.dtype.kind == "O" and given.ndim == 1 and len(given) > 0 and np.ndim(given[0]) > 0
    return isinstance(given, (list, tuple)) and len(given) > 0 and _is_sequence(given[0])


def _is_sequence(given: Any) -> bool:
    return not isinstance(given, (str, bytes)) and hasattr(given, "__len__") and getattr(given, "ndim", 1) > 0


def _shown(given: Any) -> str:
    text = repr(given)
    return f"{type(given).__name__} {text if len(text) < 40 else text[:37] + '…'}"
