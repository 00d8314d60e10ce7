"""attnc compiles Transformer models to native code and runs them.

    import attnc

    model = attnc.load("all-MiniLM-L6-v2", dtype="int8", threads=2)
    rows = model.encode(["A first text.", "A second one."], normalize=True)
"""

from attnc._arrays import similarity
from attnc._library import version
from attnc._native import Facts
from attnc.errors import (
    BackendError, Error, FileError, InputError, InternalError, Message,
    UsageError)
from attnc.errors import MemoryError as MemoryError
from attnc.errors import Warning as Warning
from attnc.model import Model, load
from attnc.texts import compile as compile
from attnc.texts import graph, plan

__version__ = version

# MemoryError, Warning and compile have the names of builtins: they are
# attnc.MemoryError and so on, and `from attnc import *` leaves them out.
__all__ = [
    "BackendError", "Error", "Facts", "FileError", "InputError",
    "InternalError", "Message", "Model", "UsageError", "graph", "load", "plan",
    "similarity", "version"]
