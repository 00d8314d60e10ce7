"""Writes wheels. The same files give the same wheel: it holds no time."""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from typing import Iterable


def write(to: str | os.PathLike[str], files: Iterable[tuple[str, bytes, bool]],
          info: str) -> None:
    """Writes a wheel.

    files: the path of each file, its bytes, and whether it may be executed
    info: the folder for RECORD, such as "attnc-0.1.0.dist-info"
    """
    record = []
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        def add(path: str, data: bytes, program: bool) -> None:
            entry = zipfile.ZipInfo(path)  # of 1980
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)

        for path, data, program in files:
            add(path, data, program)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            hashed = digest.decode().rstrip("=")
            record.append(f"{path},sha256={hashed},{len(data)}")
        record.append(f"{info}/RECORD,,")
        add(f"{info}/RECORD", ("\n".join(record) + "\n").encode(), False)


def info_wheel(tag: str) -> bytes:
    """Returns the contents of the file WHEEL."""
    return (f"Wheel-Version: 1.0\nGenerator: attnc\nRoot-Is-Purelib: false\n"
            f"Tag: py3-none-{tag}\n").encode()
