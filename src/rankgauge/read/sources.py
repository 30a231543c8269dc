"""Where bytes come from: a path or standard input, with compression as a layer under every format."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any, BinaryIO, Final, NamedTuple, cast

from rankgauge.errors import InputError, choices, nearest
from rankgauge.read.foreign import addressed, is_address, refuse_foreign
from rankgauge.read.layers import Layer, layer_by_magic, split_suffixes
from rankgauge.read.part_files import is_glob, part_columns, part_files

__all__ = ["EXPANSION", "LONGEST_LINE", "NUMPY", "QRELS", "SMALL", "Source", "find_source", "may_be_parts"]

SMALL: Final = 8 << 20  # bytes, up to which a file is read row by row, without polars
HEAD: Final = 64 * 1024
QRELS: Final = "qrels"  # the folder of judgments in a data set of BEIR
PREDICTIONS: Final = "_predictions.json"  # how the names of MTEB's files end
START: Final = 256  # bytes that tell what a file is
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
LONGEST_LINE: Final = 64 << 20  # bytes: a line that is longer is the end of something that is no file of lines
NUMPY: Final = b"\x93NUMPY"
NOT_LINES: Final = (b"{", b"[", b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", NUMPY, *UTF_16)
# How much text a compressed byte stands for, roughly: enough to tell small files from big ones.
EXPANSION: Final = 4
COLUMNAR: Final = (".parquet", ".arrow", ".feather", ".ipc")


class Source(NamedTuple):
    """Bytes that can be read as often as needed; or `parts`, files that are read one after the other as one.

    A part may have `columns` that the names of its folders stand for, and may be at an `address` in place of a path.
    """

    name: str
    suffix: str
    path: str | None = None
    content: bytes = b""
    layer: Layer | None = None
    watch: Callable[[int], object] | None = None
    small: int = SMALL
    longest: int = LONGEST_LINE
    parts: tuple[Source, ...] = ()
    columns: Mapping[str, str | None] = {}
    address: str | None = None

    def watched(self, watch: Callable[[int], object] | None) -> Source:
        """The same source, of which is told how many more bytes have been read."""
        return self._replace(watch=watch, parts=tuple(each.watched(watch) for each in self.parts))

    @property
    def size(self) -> int:
        """How many bytes there are, compressed or not."""
        if self.parts:
            return sum(each.size for each in self.parts)
        return len(self.content) if self.path is None else os.path.getsize(self.path)

    @property
    def text_size(self) -> int:
        """How many bytes there are after decompression, roughly."""
        return self.size * (EXPANSION if self.layer else 1)

    @property
    def is_small(self) -> bool:
        """Whether the decompressed bytes are few enough for the plain reader."""
        return self.text_size <= self.small

    @property
    def plain_path(self) -> str | None:
        """The path, where the bytes can be read from it as they are."""
        return None if self.layer else self.path

    def open(self) -> BinaryIO:
        """The decompressed bytes, from the start."""
        raw = self._raw()
        if not self.layer:
            return cast(BinaryIO, raw)
        guarded = _Guarded(self.layer.open(raw, "rb"), raw, self)
        return cast(BinaryIO, io.BufferedReader(guarded, HEAD))

    def open_text(self) -> BinaryIO:
        """The decompressed bytes as UTF-8, after the byte-order mark if there is one, lines ended by newlines."""
        stream = cast(io.BufferedReader, self.open())
        start = stream.peek(len(BYTE_ORDER_MARK))
        if start.startswith(UTF_16):
            return _recoded(stream, self.name)
        if start.startswith(BYTE_ORDER_MARK):
            stream.read(len(BYTE_ORDER_MARK))
        if b"\r" in start[:-1] and b"\n" not in start:  # as old Macs and some exports write lines
            return cast(BinaryIO, io.BufferedReader(_Newlines(stream, self.name), HEAD))
        return cast(BinaryIO, stream)

    def open_lines(self) -> BinaryIO:
        """The same, of a file of lines: one that is too long is an error that names it, before it is held in memory."""
        stream = self.open_text()
        if self.layer is None and self.size <= self.longest:
            return stream
        return cast(BinaryIO, io.BufferedReader(_Lines(stream, self), HEAD))

    def read_text(self) -> bytes:
        """All of what `open_text` gives, at once."""
        with self.open_text() as stream:
            return stream.read()

    def read_lines(self) -> bytes:
        """The same of a file of lines."""
        data, part = self.read_text(), max(self.longest // 2, 1)
        if any(data.find(b"\n", start, start + part) < 0 for start in range(0, len(data) - part, part)):
            _check_lines(self)  # only a line that is too long need fill a whole part
        return data

    def head(self, size: int = HEAD) -> bytes:
        """The first decompressed bytes, without a byte-order mark."""
        with self.open_text() as stream:
            return stream.read(size)

    def _raw(self) -> io.BufferedReader:
        if self.parts or self.address:
            raise InputError(f"{self.name}: is several files or an address, which only a run or judgments may be")
        if self.path is None:
            return io.BufferedReader(cast(io.RawIOBase, io.BytesIO(self.content)))
        try:
            return io.BufferedReader(_Watched(self.path, self.watch)) if self.watch else open(self.path, "rb")
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from None


def _recoded(stream: io.BufferedReader, name: str) -> BinaryIO:
    """UTF-16, as spreadsheets save it, as UTF-8."""
    with stream:
        data = stream.read()
    try:
        return io.BytesIO(data.decode("utf-16").encode())
    except UnicodeDecodeError as error:
        place = f"{name}: byte {error.start + 1}"
        raise InputError(f"{place} is not UTF-16 text, as its first two promise; save it as UTF-8") from None


class _Newlines(io.RawIOBase):
    """A stream with newlines for carriage returns."""

    def __init__(self, inner: IO[bytes], name: str) -> None:
        self.inner, self.name = inner, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.inner.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self.inner.close()
        super().close()


class _Lines(io.RawIOBase):
    """A stream in which no line is longer than the source allows."""

    def __init__(self, inner: BinaryIO, source: Source) -> None:
        self.inner, self.source, self.name = cast(io.BufferedIOBase, inner), source, source.name
        self.read_before = self.length = 0  # bytes of all, and of the line that has not ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        room = memoryview(buffer)[: self.source.longest]
        size = self.inner.readinto(room)
        first, last = _newlines(room[:size])
        if self.length + (size if first < 0 else first) > self.source.longest:
            limit = f"{self.source.longest / (1 << 20):g} MiB"
            raise InputError(f"{self.name}:{self._line()}: a line is longer than {limit}; expected one row a line")
        self.length = self.length + size if first < 0 else size - last - 1
        self.read_before += size
        return size

    def _line(self) -> int:
        """The number of the line, which is counted when it is asked for."""
        with self.source.open_text() as again:
            steps = range(0, self.read_before, HEAD)
            return 1 + sum(again.read(min(HEAD, self.read_before - start)).count(b"\n") for start in steps)

    def close(self) -> None:
        self.inner.close()
        super().close()


def _newlines(data: memoryview) -> tuple[int, int]:
    """Where the first and the last newline are, -1 if there is none; of what lies between them nothing is copied."""
    starts = range(0, len(data), HEAD)
    found = ((start, bytes(data[start : start + HEAD]).find(b"\n")) for start in starts)
    first = next((start + at for start, at in found if at >= 0), -1)
    if first < 0:
        return -1, -1
    found = ((start, bytes(data[start : start + HEAD]).rfind(b"\n")) for start in reversed(starts))
    return first, next(start + at for start, at in found if at >= 0)


class _Watched(io.FileIO):
    """A file that tells how many more bytes have been read."""

    def __init__(self, path: str, watch: Callable[[int], object]) -> None:
        super().__init__(path)
        self.watch = watch

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self.watch(count or 0)
        return count


class _Guarded(io.RawIOBase):
    """A decompressor whose every failure is an InputError that names the file."""

    def __init__(self, inner: IO[bytes], raw: IO[bytes], source: Source) -> None:
        self.inner, self.raw, self.source, self.name = inner, raw, source, source.name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self.inner.read(len(buffer))
        except Exception as error:
            # Decompressors raise EOFError, OSError and classes of their own, each from a module that is loaded late.
            assert self.source.layer is not None
            kind = self.source.layer.name
            raise InputError(
                f"{self.source.name}: not a whole {kind} file ({error}); fetch or compress it again, "
                f"or take the suffix off its name if it is not compressed"
            ) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self.inner.close()
            self.raw.close()
        super().close()


def find_source(source: str | os.PathLike[str] | Source, empty: str = "expected one row a line") -> Source:
    """The source behind a path, or standard input for `-`; whatever cannot be read is said so here."""
    if isinstance(source, Source):
        return source
    path = os.fsdecode(source)
    file = _standard_input() if path == "-" else _file(path)
    if file.parts:
        return file
    with file.open() as stream:
        start = stream.read(START)
    if not start:
        raise InputError(f"{file.name}: is empty; {empty}")
    refuse_foreign(start, file.name)
    if b"\n" not in start and b"\0" not in start and not start.startswith(NOT_LINES):
        _check_lines(file, 1)
    return file


def may_be_parts(path: str) -> bool:
    """Whether a path stands for several files or is an address, as far as its name and its folder tell."""
    return is_address(path) or is_glob(path) or bool(part_files(path))


def _check_lines(file: Source, number: int = -1) -> None:
    """Refuse a line that is too long: among so many, or among all."""
    with file.open_lines() as stream:
        while number and (part := stream.read(HEAD)):
            number -= b"\n" in part


def _standard_input() -> Source:
    content = sys.stdin.buffer.read()
    return Source("standard input", "", content=content, layer=layer_by_magic(content))


def _file(path: str) -> Source:
    if name := addressed(path):
        suffix = split_suffixes(name)[0] or ".parquet"  # which a folder is of
        return Source(name, suffix, parts=(Source(name, suffix, address=path),))
    if is_glob(path):
        return _several(path, part_files(path))
    if os.path.isdir(path):
        return _folder(path)
    suffix, layer = split_suffixes(path)
    with Source(path, suffix, path).open() as stream:
        if not os.path.isfile(path):  # a pipe gives its bytes once
            content = stream.read()
            return Source(path, suffix, content=content, layer=layer or layer_by_magic(content))
        return Source(path, suffix, path, layer=layer or layer_by_magic(stream.read(8)))


# ---- folders that tools write ----------------------------------------------------------------------------------------


def _folder(path: str) -> Source:
    """What is meant by a folder: the judgments of BEIR's data set, MTEB's predictions, or a response per query."""
    names = sorted(each for each in os.listdir(path) if not each.startswith("."))
    if os.path.isdir(os.path.join(path, QRELS)):
        splits = sorted(each for each in os.listdir(os.path.join(path, QRELS)) if each.endswith(".tsv"))
        tested = ["test.tsv"] if "test.tsv" in splits else splits  # as BEIR itself takes it
        return _only(os.path.join(path, QRELS), tested)
    predicted = [each for each in names if each.endswith(PREDICTIONS)]
    if predicted:
        return _only(path, predicted)
    if names and all(each.endswith(".json") for each in names):
        return Source(path, ".jsonl", content=b"\n".join(_response(path, each) for each in names))
    if names and (found := part_files(path)):
        return _several(path, found)
    holds = f"it holds {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "it is empty"
    suffixes = [os.path.splitext(each)[1] for each in names]
    alike = os.path.join(path, f"*{max(suffixes, key=suffixes.count)}") if names else ""  # what most are called
    several = f", or several as one run, in quotes: {alike!r}" if names else ""
    alone = "a folder itself is read where it holds QUERY.json or part-* alone"
    raise InputError(f"{path}: is a folder; name a file in it ({holds}){several}; {alone}")


def _several(path: str, files: list[str]) -> Source:
    """The files of one run; one without a byte holds nothing, as those of jobs with too many tasks."""
    if not files:
        raise InputError(f"{path}: no file matches; check the path (a glob is in quotes, so that the shell leaves it)")
    parts = [find_source(each)._replace(columns=part_columns(each, path)) for each in files if _holds_rows(each)]
    if not parts:
        raise InputError(f"{path}: is empty, as all {len(files):,} files of it are; expected one row a line")
    return Source(path, parts[0].suffix, parts=tuple(parts))


def _holds_rows(path: str) -> bool:
    """Whether a part holds any; a file of columns, or one that is compressed, has some bytes even where it does not."""
    if os.path.getsize(path):
        return True
    suffix, layer = split_suffixes(path)
    if layer or suffix in COLUMNAR:
        raise InputError(f"{path}: is empty, which no whole file of its kind is; fetch or write it again")
    return False


def _only(folder: str, names: list[str]) -> Source:
    if len(names) != 1:
        which = choices(os.path.join(folder, each) for each in names) if names else "there is none"
        raise InputError(f"{folder}: is a folder with several files that could be meant; name one: {which}")
    return find_source(os.path.join(folder, names[0]))


def _response(folder: str, name: str) -> bytes:
    """A line of JSON: the query, which is the file's name, beside the response."""
    import json

    file = find_source(os.path.join(folder, name))
    try:
        response = json.loads(file.read_text())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file.name}: is not JSON ({error}); expected the response for query {name[:-5]!r}") from None
    return json.dumps({"query_id": name.removesuffix(".json"), "response": response}).encode()


def _unreadable(path: str, error: OSError | ValueError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: there is no such file{_suggestion(path)}")
    if isinstance(error, PermissionError):
        return InputError(f"{path}: permission denied; make the file readable (chmod +r) or run as its owner")
    return InputError(f"{path!r} cannot be read ({getattr(error, 'strerror', None) or error})")


def _suggestion(path: str) -> str:
    folder = os.path.dirname(path)
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return f", nor a folder {folder!r}; check the path"
    near = nearest(os.path.basename(path), names)
    return f"; did you mean {os.path.join(folder, near)}?" if near else f" in {folder or 'this folder'}; check the path"
