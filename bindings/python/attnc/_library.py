"""The C library, libattnc.so.1: where it is, and its functions (attnc.h)."""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64,
    c_void_p)

NAME = "libattnc.so.1"
VERSION = "0.1"  # of the C functions that this package calls


class CMessage(Structure):
    _fields_ = [("severity", c_int), ("line", c_int), ("column", c_int),
                ("file", c_char_p), ("text", c_char_p), ("done", c_double),
                ("seconds", c_double), ("left", c_double),
                ("source", c_void_p), ("source_bytes", c_int64)]


class CFacts(Structure):
    _fields_ = [
        ("name", c_char_p), ("kind", c_int64), ("d_model", c_int64),
        ("source_vocab", c_int64), ("target_vocab", c_int64),
        ("max_source", c_int64), ("max_target", c_int64),
        ("input_width", c_int64), ("class_token", c_int64),
        ("types", c_int64), ("columns", c_int64), ("pooled", c_int64),
        ("generates", c_int64), ("reads_text", c_int64),
        ("writes_text", c_int64), ("weights_bytes", c_int64),
        ("dtype", c_char_p), ("threads", c_int64)]


class CLimits(Structure):
    _fields_ = [("max_input", c_int64), ("max_output", c_int64),
                ("max_text", c_int64), ("beam", c_int64), ("cut", c_int64),
                ("task", c_int64), ("reserved", c_int64 * 5)]


class CAnswer(Structure):
    _fields_ = [("question", c_int64), ("rank", c_int64), ("text", c_void_p),
                ("bytes", c_int64), ("ids", c_void_p), ("n", c_int64),
                ("ended", c_int64), ("score", c_double),
                ("log_probability", c_double)]


class CMap(Structure):
    _fields_ = [("name", c_char_p), ("layer", c_int64),
                ("query_side", c_int64), ("key_side", c_int64),
                ("heads", c_int64), ("queries", c_int64), ("keys", c_int64),
                ("weights", c_void_p)]


class CMaps(Structure):
    _fields_ = [("maps", c_int64), ("map", POINTER(CMap)),
                ("tokens", c_int64 * 2), ("token", POINTER(c_char_p) * 2),
                ("answer", c_char_p)]


Tell = CFUNCTYPE(None, c_void_p, POINTER(CMessage))
TakeText = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int64)
TakeId = CFUNCTYPE(c_int, c_void_p, c_int32)
TakeFile = CFUNCTYPE(c_int, c_void_p, c_char_p, c_void_p, c_int64)
Read = CFUNCTYPE(c_int64, c_void_p, c_int64, c_void_p, c_int64)
TakeAnswer = CFUNCTYPE(c_int, c_void_p, POINTER(CAnswer))

# Arrays are passed as addresses. A handle and a model are addresses, too.
_Words = POINTER(c_char_p)
_at, _n = c_void_p, c_int64
_PROTOTYPES = {
    "attnc_version": (c_char_p, []),
    "attnc_open": (c_int, [POINTER(_at), c_char_p, c_char_p, _Words, Tell,
                           _at]),
    "attnc_open_weights": (c_int, [POINTER(_at), c_char_p, c_char_p, _at, _n,
                                   _Words, Tell, _at]),
    "attnc_open_reader": (c_int, [POINTER(_at), c_char_p, c_char_p, Read, _at,
                                  _Words, Tell, _at]),
    "attnc_close": (None, [_at]),
    "attnc_facts": (POINTER(CFacts), [_at]),
    "attnc_prompt": (c_char_p, [_at, c_char_p]),
    "attnc_prompt_name": (c_char_p, [_at, _n]),
    "attnc_compile": (c_int, [c_char_p, c_char_p, _Words, Tell, _at]),
    "attnc_compile_files": (c_int, [c_char_p, c_char_p, _Words, TakeFile, _at,
                                    Tell, _at]),
    "attnc_report": (c_int, [POINTER(_at), c_char_p, c_char_p, c_char_p,
                             _Words, Tell, _at]),
    "attnc_interrupt": (None, []),
    "attnc_free": (None, [_at]),
    "attnc_handle_open": (c_int, [POINTER(_at), _at, POINTER(CLimits)]),
    "attnc_handle_close": (None, [_at]),
    "attnc_error": (c_char_p, [_at]),
    "attnc_tokens": (_n, [_at, c_int, c_char_p, _n, _at, _n]),
    "attnc_text": (_n, [_at, _at, _n, _at, _n]),
    "attnc_encode": (_n, [_at, _at, _at, _at, _n, _at, _n, _at]),
    "attnc_encode_rows": (_n, [_at, _at, _at, _n, _at, _n, _at]),
    "attnc_embed": (_n, [_at, _at, _at, _n, _at, _n, _at]),
    "attnc_embed_pairs": (_n, [_at, _at, _at, _at, _at, _n, _at, _n, _at]),
    "attnc_attend": (_n, [_at, _at, _n, _at, _at, _n, _at, _n]),
    "attnc_generate": (_n, [_at, c_char_p, _n, _Words, TakeText, _at]),
    "attnc_generate_ids": (_n, [_at, _at, _n, _Words, TakeId, _at]),
    "attnc_chat": (_n, [_at, _Words, _Words, _n, _Words, TakeText, _at]),
    "attnc_answers": (_n, [_at, _at, _at, _n, _Words, TakeAnswer, _at]),
    "attnc_state": (_n, [_at, _at, _n]),
    "attnc_continue": (_n, [_at, c_char_p, _n, c_char_p, _n, _Words, TakeText,
                            _at]),
    "attnc_logits": (_n, [_at, c_char_p, _n, c_char_p, _n, _n, _at, _n]),
    "attnc_hidden": (_n, [_at, c_char_p, _n, c_char_p, _n, _at, _n]),
    "attnc_hidden_ids": (_n, [_at, _at, _n, _at, _n, _at, _n]),
    "attnc_logits_ids": (_n, [_at, _at, _n, _at, _n, _n, _at, _n]),
    "attnc_attention": (c_int, [POINTER(POINTER(CMaps)), _at, c_char_p, _Words,
                                Tell, _at]),
    "attnc_maps_svg": (c_int, [POINTER(CMaps), POINTER(c_char_p), Tell, _at]),
    "attnc_maps_free": (None, [POINTER(CMaps)]),
    "attnc_score": (_n, [_at, c_char_p, _n, c_char_p, _n, POINTER(c_double)]),
    "attnc_scores": (_n, [_at, _at, _at, _at, _at, _n, _at]),
    "attnc_score_ids": (_n, [_at, _at, _n, _at, _n, POINTER(c_double)]),
}


def _load() -> ctypes.CDLL:
    named = os.environ.get("ATTNC_LIBRARY")
    beside = os.path.join(os.path.dirname(__file__), NAME)
    path = named or (beside if os.path.exists(beside) else NAME)
    try:
        library = ctypes.CDLL(path)
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(
            f"attnc needs {NAME}: {error}; `make lib` builds it, and "
            f"ATTNC_LIBRARY names it") from error
    found = library.attnc_version().decode()
    if not found.startswith(VERSION + "."):
        raise ImportError(f"{path} is version {found}, this package is for "
                          f"version {VERSION}")
    return library


LIB = _load()
version: str = LIB.attnc_version().decode()
