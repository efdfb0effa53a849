"""Named tuples of ops that give two results, as PyTorch's."""

from collections import namedtuple


def _pair(name: str, fields: str = "values indices") -> type:
    return namedtuple(name, fields, module=__name__)


max = _pair("max")  # noqa: A001
min = _pair("min")  # noqa: A001
aminmax = _pair("aminmax", "min max")
cummax = _pair("cummax")
cummin = _pair("cummin")
kthvalue = _pair("kthvalue")
median = _pair("median")
mode = _pair("mode")
nanmedian = _pair("nanmedian")
sort = _pair("sort")
topk = _pair("topk")
