"""A dense system for the demo: products whose words mean what those of the query do, by static word vectors.

[systems.dense]
call = "dense:search"

The vectors are inside the wheel `wordllama` (MIT; 32,000 tokens, 256 numbers each). Its two files are read here with
`tokenizers` and `safetensors`, so nothing is asked of a network, and nothing but the three wheels is installed.
"""

import json
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

CATALOGUE = Path(__file__).resolve().parent / "catalogue.jsonl"
Vectors = np.ndarray[Any, np.dtype[np.float32]]


@cache
def model() -> tuple[Tokenizer, Vectors]:
    """What cuts a text into tokens, and a vector for each of them."""
    inside = distribution("wordllama").locate_file  # where it is, without importing it: it would want more wheels
    tokenizer = Tokenizer.from_file(str(inside("wordllama/tokenizers/l2_supercat_tokenizer_config.json")))
    (vectors,) = load_file(str(inside("wordllama/weights/l2_supercat_256.safetensors"))).values()
    return tokenizer, vectors.astype(np.float32)


def embed(text: str) -> Vectors:
    """The mean of the vectors of a text's tokens, of length 1."""
    tokenizer, vectors = model()
    mean: Vectors = vectors[tokenizer.encode(text, add_special_tokens=False).ids].mean(axis=0)
    return mean / np.linalg.norm(mean)


def product(fields: dict[str, Any]) -> Vectors:
    """The vector of a product: of all that it says but its id."""
    return embed(" ".join(str(value) for name, value in fields.items() if name not in ("id", "doc_id")))


@cache
def catalogue() -> tuple[list[str], Vectors]:
    """The ids of all products, and their vectors."""
    products = [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]
    return [each["doc_id"] for each in products], np.stack([*map(product, products)])


def search(query: str, k: int) -> list[tuple[str, float]]:
    """The k products nearest to the query, by the cosine."""
    ids, vectors = catalogue()
    cosines = vectors @ embed(query)
    return [(ids[place], float(cosines[place])) for place in np.argsort(-cosines, kind="stable")[:k]]


def scores(query: str, documents: list[dict[str, Any]]) -> list[float]:
    """The same as a second stage: `rerank = "bm25"`, `call = "dense:scores"`."""
    asked = embed(query)
    return [float(product(document) @ asked) for document in documents]
