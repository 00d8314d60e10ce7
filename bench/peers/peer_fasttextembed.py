"""fasttextembed: bge-small-en-v1.5 in plain C, with its own tokenizer; twelve
layers of MiniLM's width. It has its weights from the web at its first use, or
from the folder that FTE_MODEL_DIR names."""
import fasttextembed
import numpy as np


def version(work):
    return fasttextembed.__version__


def prepare(work, variant):
    try:
        model = fasttextembed.TextEmbedding()
    except OSError as wrong:
        raise RuntimeError(f"its weights cannot be had: {wrong}") from None

    def run():
        return [model.embed_one(text) for text in work["texts"]]
    return run, lambda rows: np.array(rows, np.float32)
