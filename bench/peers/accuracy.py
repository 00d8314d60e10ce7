"""What fewer bits lose, against the same program in f32 and the same inputs."""
import math

MOST = 1.0                       # a loss beyond that: zeros are nearer


def loss(found, own):
    """Of numbers: rms of the difference / rms of what f32 gives."""
    differences = math.fsum((a - b) ** 2 for a, b in zip(found, own))
    return math.sqrt(differences / math.fsum(b * b for b in own))


def equal(found, own):
    """Of tokens: the share of places where they are the same."""
    return sum(a == b for a, b in zip(found, own)) / len(own)


def of(found, own):
    """{'loss': share} of floats, {'equal': share} of tokens; lists, flat."""
    if isinstance(own[0], float):
        return {"loss": loss(found, own)}
    return {"equal": equal(found, own)}


def wrong(found):
    """Why a result cannot be that of fewer bits, or None. Tokens may all
    differ: where a model is not trained, they follow the least difference."""
    if "loss" in found and not found["loss"] <= MOST:
        return f"far from its own f32: {found['loss']:.2g}"
    return None


def text(row):
    if "loss" in row:
        return f"{100 * row['loss']:.2f} %"
    return f"{100 * row['equal']:.1f} % of tokens equal"
