"""`python -m attnc ..` is `attnc ..`: the command next to this file, or the
one in PATH."""

import os
import shutil
import sys
from pathlib import Path

beside = Path(__file__).with_name("attnc")
command = str(beside) if os.access(beside, os.X_OK) else shutil.which("attnc")
if command is None:
    print("python -m attnc: there is no attnc in PATH", file=sys.stderr)
    sys.exit(127)
os.execv(command, ["attnc", *sys.argv[1:]])
