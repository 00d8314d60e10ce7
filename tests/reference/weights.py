"""Random weights, made as the model asks for them, and files of tensors."""
import json
import struct
import zlib

import numpy as np

TABLES = ("source", "target", "types")
NUMBERS = {"float32": "F32", "int32": "I32"}


def to_bf16(x):
    """To the nearest of 16 bits, of two the even one."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000
    return bits.astype(np.uint32).view(np.float32)


def near_bf16(x):
    """The same for numbers in double precision."""
    step = 2.0 ** (np.frexp(x)[1] - 8)
    return np.rint(x / step) * step


def near_int8(x):
    """Each row of the last axis as integers of -127 .. 127 times its scale."""
    step = np.abs(x).max(axis=-1, keepdims=True) / 127
    step = np.where(step < 2.0 ** -107, np.inf, step)
    return np.where(np.isinf(step), 0, np.rint(x / step)) * \
        np.where(np.isinf(step), 0, step)


def two_bf16(x):
    """x as the sum of its nearest bf16 and of the one nearest to the rest."""
    near = near_bf16(x)
    return near + near_bf16(x - near)


def by_name(table, name):
    """The row with most parts of those that a name begins with, and how many
    these are; {i} is any number."""
    parts, best = name.split("."), (None, 0)
    for key in table:
        want = key.split(".")
        if best[1] < len(want) <= len(parts) and all(
                a == b or a == "{i}" and b.isdigit()
                for a, b in zip(want, parts)):
            best = key, len(want)
    return best


class Weights:
    """w(name, shape) is a weight in double precision, as the model computes
    with it; `made` has them all as a file has them, by canonical names."""

    def __init__(self, spec, seed):
        self.seed, self.made, self.used = seed, {}, {}
        self.margin = np.inf
        dtype = spec.get("dtype", "f32")
        self.dtype = dtype if isinstance(dtype, dict) else {"default": dtype}
        self.arithmetic = spec.get("arithmetic", "f32")
        self.names = spec.get("names") or {}
        tie = spec.get("embedding.tie") or []
        of = "target" if "target" in tie else "source"
        self.tied = {f"{name}.weight": f"{of}.weight" for name in tie}

    def __call__(self, name, shape, kind="vector"):
        name = self.tied.get(name, name)
        shape = tuple(int(n) for n in shape)
        if name not in self.made:
            of = np.random.default_rng((self.seed, zlib.crc32(name.encode())))
            self.made[name], self.used[name] = self.draw(
                of, name, shape, kind)
        assert self.made[name].shape == shape, (name, shape)
        return self.used[name]

    def draw(self, of, name, shape, kind):
        x = of.standard_normal(shape)
        if kind == "norm":
            x = 1 + 0.1 * x
        elif kind == "table":
            x = x / np.sqrt(shape[-1])
        elif len(shape) > 1:
            # a state does not grow from row to row
            x = (0.3 if ".hidden." in name else 0.8) * x / np.sqrt(shape[-1])
        else:
            x = 0.2 * x
        form = self.form(name[:-len(".weight")]) if kind in (
            "matrix", "table") else "f32"
        x = x.astype(np.float32)
        if form.startswith("int"):
            x = on_grid(x, form, "convolution" in name)
        fill, scale, add = (self.said(name, key, none) for key, none in
                            (("fill", None), ("scale", 1), ("add", 0)))
        if fill is not None:
            x = np.full(shape, fill, np.float32)
        used = (x * float(scale) + float(add)).astype(np.float32)
        if form == "bf16":
            used = to_bf16(used)
        return x, used.astype(float)

    def said(self, name, key, none):
        """What `names` says of a weight by this key."""
        rows = {at: row[key] for at, row in self.names.items()
                if isinstance(row, dict) and key in row}
        at, _ = by_name(rows, name)
        return rows.get(at, none)

    def form(self, name):
        """The dtype of a matrix."""
        key, parts = by_name(self.dtype, name)
        if not parts and name in TABLES:
            key = "embedding"
        form = self.dtype.get(key)
        if form is None:
            form = self.dtype.get("default", "f32")
            if form in ("int4", "int4g64") and (name in TABLES or
                                                name == "logits"):
                return "int8"
        return form

    def stored(self):
        """The tensors of a file, by its own names."""
        file = {}
        for name, x in self.made.items():
            if self.said(name, "fill", None) is not None:
                continue
            if x.ndim == 2 and self.said(name, "transpose", False):
                x = x.T
            file[self.file_name(name)] = x
        for key, row in self.names.items():
            if isinstance(row, dict) and "rows" in row:
                self.join(file, key, row)
        return file

    def file_name(self, name):
        """`names` has a word, or a map with `tensor`."""
        rows = {at: row for at, row in self.names.items()
                if isinstance(row, str)}
        at, parts = by_name(rows, name)
        if at is None:
            return name
        number = name.split(".")[1]
        rest = name.split(".")[parts:]
        return ".".join([rows[at].replace("{i}", number), *rest])

    def join(self, file, key, row):
        """Several weights become one tensor, rows one above the other."""
        layers = {name.split(".")[1] for name in self.made
                  if by_name({key: 0}, name)[0]}
        for i in layers:
            at = key.replace("{i}", i)
            for end in ("weight", "bias"):
                names = [f"{at}.{part}.{end}" for part in row["rows"]]
                if names[0] not in file:
                    continue
                turned = self.said(names[0], "transpose", False)
                axis = 1 if turned and end == "weight" else 0
                file[f"{row['tensor'].replace('{i}', i)}.{end}"] = \
                    np.concatenate([file.pop(name) for name in names], axis)

    def rows(self, name, x):
        """x, rounded to what products compute with: bf16, or integers."""
        if self.arithmetic.startswith("bf16_") and self.form(name) == "bf16":
            return near_bf16(x)
        if self.arithmetic == "bf16x3" and self.form(name) == "f32":
            return two_bf16(x)
        if self.arithmetic == "f32" or not self.form(name).startswith("int"):
            return x
        most = {"int8": 127, "int15": 16256}[self.arithmetic]
        size = np.abs(x).max(axis=-1, keepdims=True)
        scale = np.where(size < 2.0 ** -100, 1, size / most)
        kept = np.where(size < 2.0 ** -100, 0, np.rint(x / scale))
        return kept * scale


def on_grid(x, form, turned):
    """Weights that a format stores without loss: integers times a power of
    two, of which one in each row is 127; of int4 in steps of 16, of which
    each group has the first and the last. A kernel's columns are `turned`
    when they are packed, so that its groups are not known: it has no more
    than these two numbers."""
    size = np.abs(x).max(axis=-1, keepdims=True)
    scale = np.float32(2.0) ** np.ceil(np.log2(size / 127))
    q = np.rint(x / size * 127)
    q[..., 0] = 127
    if form != "int8":
        group = 64 if form == "int4g64" else 32
        q = np.clip(np.rint((q - 15) / 16), -8, 7) * 16 + 15
        q[..., 0::group] = 127
        q[..., 1::group] = -113
        if turned:
            q = np.where(q > 0, 127, -113)
    return (q * scale).astype(np.float32)


def save(path, tensors):
    """Writes a .safetensors file."""
    head, body, at = {}, [], 0
    for name, value in tensors.items():
        value = np.ascontiguousarray(value)
        head[name] = {"dtype": NUMBERS[str(value.dtype)],
                      "shape": list(value.shape),
                      "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
        body.append(value.tobytes())
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(body))


def load(path):
    with open(path, "rb") as file:
        raw = file.read()
    size, = struct.unpack("<Q", raw[:8])
    head, body = json.loads(raw[8:8 + size]), raw[8 + size:]
    forms = {"F32": np.float32, "I32": np.int32}
    return {name: np.frombuffer(body[t["data_offsets"][0]:
                                     t["data_offsets"][1]],
                                forms[t["dtype"]]).reshape(t["shape"])
            for name, t in head.items() if name != "__metadata__"}
