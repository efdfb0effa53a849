"""What the namespace has: devices, dtypes, abilities."""

import unigrad as _u

from ._dtypes import BOOL, REAL, SIGNED, UNSIGNED

_DTYPES = {dtype.name: dtype for dtype in BOOL + SIGNED + UNSIGNED + REAL}
_KINDS = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + REAL,
}


class __array_namespace_info__:  # noqa: N801
    """What the namespace has.

    >>> import unigrad
    >>> unigrad.array_api.__array_namespace_info__().default_dtypes()["real floating"]
    unigrad.float32
    """

    def capabilities(self):
        """What shapes may depend on, and how many axes an array may have."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """Where arrays are made if no device is named."""
        return _u.default_device()

    def default_dtypes(self, *, device=None):
        """The dtypes of arrays that are made without one."""
        return {"real floating": _u.get_default_dtype(), "integral": _u.int64, "indexing": _u.int64}

    def dtypes(self, *, device=None, kind=None):
        """The standard's dtypes that are here, by name; of a kind or several, if asked."""
        if kind is None:
            return dict(_DTYPES)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        for one in kinds:
            if one not in _KINDS:
                raise ValueError(f"`kind` is one of {', '.join(map(repr, _KINDS))}, or a tuple of them, not {one!r}")
        return {name: dtype for name, dtype in _DTYPES.items() if any(dtype in _KINDS[one] for one in kinds)}

    def devices(self):
        """All devices that can be opened."""
        found = []
        for name in _u.devices():
            try:
                found.append(_u.Device(name))
            except _u.NotAvailableError:
                # It is listed, and does not work: no display, no permission.
                continue
        return found
