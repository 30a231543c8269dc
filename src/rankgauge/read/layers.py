"""Compression as a layer under every format: by the suffix of a file, or by how it begins."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any, Final, NamedTuple, cast

__all__ = ["LAYERS", "Layer", "layer_by_magic", "layer_of", "split_suffixes"]

PART: Final = 64 * 1024  # bytes that are decompressed at a time


class Layer(NamedTuple):
    """A kind of compression."""

    name: str
    suffixes: tuple[str, ...]
    magic: bytes
    open: Callable[[IO[bytes], str], IO[bytes]]


def _open_gzip(raw: IO[bytes], mode: str) -> IO[bytes]:
    import gzip

    # A fixed time and no name: the same rows give the same bytes.
    return cast(IO[bytes], gzip.GzipFile(filename="", fileobj=raw, mode=mode, compresslevel=6, mtime=0))


def _open_with(module: str, name: str) -> Callable[[IO[bytes], str], IO[bytes]]:
    """A module's class of compressed files; the module is imported when there is one."""
    return lambda raw, mode: cast(IO[bytes], getattr(import_module(module), name)(raw, mode))


def _open_zstd(raw: IO[bytes], mode: str) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return cast(IO[bytes], zstd.ZstdFile(raw, mode))
    import zstandard

    if "w" in mode:
        return cast(IO[bytes], zstandard.ZstdCompressor().stream_writer(raw, closefd=False))
    return cast(IO[bytes], _ZstdReader(raw))


class _ZstdReader:
    """Frame after frame of a zstd stream; unlike zstandard's own reader it notices when the last one is cut off."""

    def __init__(self, raw: IO[bytes]) -> None:
        import zstandard

        self.raw = raw
        self.fresh = zstandard.ZstdDecompressor().decompressobj
        self.frame: Any = None
        self.pending = io.BytesIO()

    def read(self, size: int) -> bytes:
        """At most `size` bytes, none at the end."""
        while not (taken := self.pending.read(size)):
            data = (self.frame.unused_data if self.frame and self.frame.eof else b"") or self.raw.read(PART)
            if not data:
                if self.frame and not self.frame.eof:
                    raise EOFError("it ends in the middle of a frame")
                return b""
            if self.frame is None or self.frame.eof:
                self.frame = self.fresh()
            self.pending = io.BytesIO(self.frame.decompress(data))
        return taken

    def close(self) -> None:
        """Nothing of its own to close."""


LAYERS: Final = (
    Layer("gzip", (".gz", ".gzip"), b"\x1f\x8b", _open_gzip),
    Layer("bzip2", (".bz2",), b"BZh", _open_with("bz2", "BZ2File")),
    Layer("xz", (".xz",), b"\xfd7zXZ\x00", _open_with("lzma", "LZMAFile")),
    Layer("zstd", (".zst", ".zstd"), b"\x28\xb5\x2f\xfd", _open_zstd),
)


def layer_of(suffix: str) -> Layer | None:
    """The compression that a suffix stands for."""
    return next((layer for layer in LAYERS if suffix in layer.suffixes), None)


def split_suffixes(path: str) -> tuple[str, Layer | None]:
    """`runs/bm25.jsonl.gz` → `.jsonl` and gzip."""
    rest, suffix = os.path.splitext(os.path.basename(path).lower())
    layer = layer_of(suffix)
    return (os.path.splitext(rest)[1] if layer else suffix), layer


def layer_by_magic(start: bytes) -> Layer | None:
    """The compression of what begins like this."""
    return next((layer for layer in LAYERS if start.startswith(layer.magic)), None)
