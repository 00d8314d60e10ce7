"""Layers that mix rows without attention: recurrences and convolutions."""
import numpy as np

from parts import ACTIVATIONS, GATED, product, sigmoid


def simple(v, x, u, state):
    return (ACTIVATIONS[v["mix.activation"]](x + u),)


def gru(v, x, u, state):
    xr, xz, xn = np.split(x, 3)
    ur, uz, un = np.split(u, 3)
    r, z = sigmoid(xr + ur), sigmoid(xz + uz)
    return ((1 - z) * np.tanh(xn + r * un) + z * state[0],)


def lstm(v, x, u, state):
    i, f, g, o = np.split(x + u, 4)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


CELLS = {"simple": (simple, 1, 1), "gru": (gru, 3, 1), "lstm": (lstm, 4, 2)}


def run(v, w, name, x, width, start=None):
    """The states of one direction, and the last one."""
    cell, gates, parts = CELLS[v["mix.cell"]]
    bias = v["bias.mix"]
    rows = product(w, name + "input", x, gates * width, bias)
    state = start or tuple(np.zeros(width) for _ in range(parts))
    out = np.zeros((len(x), width))
    for i, row in enumerate(rows):
        u = product(w, name + "hidden", state[0][None], gates * width, bias)
        state = cell(v, row, u[0], state)
        out[i] = state[0]
    return out, state


def recurrent(v, w, name, x, start=None):
    """The rows, and the state that the layer leaves."""
    width, direction = v["mix.width"], v["mix.direction"]
    rows, left = [], None
    if direction != "backward":
        y, left = run(v, w, name, x, width, start)
        rows.append(y)
    if direction != "forward":
        y, left = run(v, w, name + "backward.", x[::-1], width, start)
        rows.append(y[::-1])
    y = np.concatenate(rows, axis=1)
    if y.shape[1] != v["d_model"]:
        y = product(w, name + "o", y, v["d_model"], v["bias.o"])
    return y, left


def taps(x, kernel, dilation, before, stride=1, rows=None):
    """Row i has, column by column, the rows stride i - before + dilation t of
    x, as a Conv1d's kernel reads them; outside are zeros."""
    n = len(x)
    rows = n if rows is None else rows
    out = np.zeros((rows, x.shape[1], kernel))
    for i in range(rows):
        for t in range(kernel):
            at = stride * i - before + dilation * t
            if 0 <= at < n:
                out[i, :, t] = x[at]
    return out.reshape(rows, -1)


def convolution(v, w, name, x):
    inner = v["mix.inner"]
    f = v["activation"]
    y = one(v, w, name, x, 1, inner or v["d_model"])
    if inner:
        y = ACTIVATIONS[GATED.get(f, (f, None))[0]](y)
        y = one(v, w, name, y, 2, v["d_model"])
    return y


def one(v, w, name, x, which, out):
    kernel, dilation = v["mix.kernel"], v["mix.dilation"]
    before = (kernel - 1) * dilation
    if v.side == "encoder":
        before //= 2
    window = taps(x, kernel, dilation, before)
    bias, wide = v["bias.mix"], out * (2 if v["mix.gated"] else 1)
    if v["mix.depthwise"]:
        at = f"{name}depthwise{which}"
        y = np.einsum("ict,ct->ic", window.reshape(len(x), -1, kernel),
                      w(at + ".weight", (x.shape[1], kernel)))
        if bias:
            y = y + w(at + ".bias", (x.shape[1],))
        if not v["mix.pointwise"]:
            return y
    else:
        y = window
    y = product(w, f"{name}w{which}", y, wide, bias)
    if v["mix.gated"]:
        y = y[:, :out] * sigmoid(y[:, out:])
    return y
