"""Examples of what is made from tables, put into its documentation."""

import inspect


def show(namespace, examples, start="import unigrad as ug"):
    """Ends the documentation of each name with its example: lines, and what the last one gives."""
    for name, (lines, result) in examples.items():
        made = namespace[name]
        typed = [f"{'...' if line.startswith(' ') else '>>>'} {line}" for line in (start, *lines.split("\n"))]
        made.__doc__ = "\n".join([inspect.cleandoc(made.__doc__ or ""), "", *typed, result, ""])
