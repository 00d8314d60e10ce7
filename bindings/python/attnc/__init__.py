"""attnc compiles Transformer models to native code and runs them.

    import attnc

    model = attnc.load("all-MiniLM-L6-v2", dtype="int8", threads=2)
    rows = model.encode(["A first text.", "A second one."], normalize=True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attnc._answers import State
from attnc._arrays import maxsim, similarity
from attnc._library import version
from attnc._native import Facts
from attnc.errors import (
    BackendError, Error, FileError, InputError, InternalError, Message,
    UsageError)
from attnc.errors import MemoryError as MemoryError
from attnc.errors import Warning as Warning
from attnc.model import Model, load

if TYPE_CHECKING:
    from attnc.attention import Attention, Map
    from attnc.texts import Graph
    from attnc.texts import compile as compile
    from attnc.texts import bench, graph, plan, sweep, tune
else:
    _LATER = {name: module for module, names in (
        ("attnc.attention", ("Attention", "Map")),
        ("attnc.texts", ("Graph", "bench", "compile", "graph", "plan", "sweep",
                         "tune"))) for name in names}

    def __getattr__(name: str) -> Any:
        """Imports what opening a model does not need, when it is asked for,
        because `import attnc` would take three times as long.
        """
        if name not in _LATER:
            raise AttributeError(f"module 'attnc' has no attribute {name!r}")
        globals()[name] = getattr(import_module(_LATER[name]), name)
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER})

__version__ = version

# MemoryError, Warning and compile have the names of builtins: they are
# attnc.MemoryError and so on, and `from attnc import *` leaves them out.
__all__ = [
    "Attention", "BackendError", "Error", "Facts", "FileError", "Graph",
    "InputError", "InternalError", "Map", "Message", "Model", "State",
    "UsageError", "bench", "graph", "load", "maxsim", "plan", "similarity",
    "sweep", "tune", "version"]
