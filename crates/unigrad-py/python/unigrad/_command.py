"""The `unigrad` command, as the package has it."""

import os
import shutil
import signal
import sys

from ._unigrad import _run_command


def main() -> None:
    """Runs the command with this process's arguments, and ends the process."""
    # Native code hears Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    program = sys.argv[0]
    # By `python -m unigrad` it is a file that cannot be started.
    if not os.access(program, os.X_OK):
        program = shutil.which("unigrad") or program
    sys.stdout.flush()
    sys.exit(_run_command(["unigrad", *sys.argv[1:]], program))
