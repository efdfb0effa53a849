"""Classes of modules that are made of a row of a table."""

from inspect import Parameter as Argument
from inspect import Signature

from .module import Module

NOTHING = object()


def module_class(name, where, settings, begin, forward, extra_repr, doc):
    """A module's class: its arguments are the names and defaults of ``settings`` (``NOTHING`` for none), which ``begin(self, given)`` takes over."""
    arguments = [
        Argument(own, Argument.POSITIONAL_OR_KEYWORD, default=Argument.empty if default is NOTHING else default)
        for own, default, *_ in settings
    ]
    signature = Signature(arguments)

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        bound.apply_defaults()
        begin(self, bound.arguments)

    __init__.__signature__ = Signature([Argument("self", Argument.POSITIONAL_OR_KEYWORD), *arguments])
    extra_repr.__doc__ = Module.extra_repr.__doc__
    members = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc, "__module__": where}
    made = type(name, (Module,), members)
    made.__signature__ = signature
    return made
