"""A program that uses the Python package. types_test checks it by
`mypy --strict`; nobody runs it. A line with `type: ignore` has to be an
error."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

import attnc
from attnc import Model, State


def opened(folder: Path) -> Model:
    model = attnc.load(folder, dtype={"ffn": "int8"}, threads=2, seed=1)
    attnc.load(spec="attnc: 1", weights=io.BytesIO(b""))
    attnc.load(folder, threads="2")  # type: ignore[arg-type]
    assert_type(model, Model)
    assert_type(model.facts.name, str)
    assert_type(model.facts.columns, int)
    return model


def rows(model: Model) -> float:
    found = model.encode(["a text", "another"], normalize=True, truncate=True)
    model.encode(texts=3)  # type: ignore[arg-type]
    model.encode("a text", normalise=True)  # type: ignore[call-arg]
    assert_type(model.rank("a query", ["a document"]), list[dict[str, Any]])
    scores = Model.similarity(found, found)
    return float(scores[0, 1])


def answers(model: Model) -> str:
    assert_type(model.generate("a prompt", n=3), str)
    pieces = model.generate("a prompt", stream=True)
    assert_type(pieces, Iterator[str])
    state = model.state("a prompt", n=1)
    assert_type(state, State)
    model.generate("a prompt").read()  # type: ignore[attr-defined]
    return "".join(pieces)


def texts(path: str) -> list[tuple[int, int]]:
    graph = attnc.graph(path, options=["--stage=built"])
    assert_type(graph.nodes, list[dict[str, Any]])
    assert_type(attnc.sweep([path], vary={"h": [2, 4]}), list[dict[str, Any]])
    attnc.plan(path, spec=1)  # type: ignore[arg-type]
    try:
        attnc.compile(path, "model.c", embed=True)
    except attnc.InputError as error:
        assert_type(error.line, int)
        assert_type(error.file, str | None)
        assert_type(error.messages, tuple[attnc.Message, ...])
    return graph.edges
