"""Bytes and JSON from files, plain or compressed, with errors that name file and line.

Nothing here holds more than one line, or one element of a JSON array, at a time.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_BOM = b"\xef\xbb\xbf"
_CHUNK = 2**20
# Unpacked bytes that any file may have, and how many times its size beyond that. Tables
# of answers pack to a tenth or a fiftieth; a bomb is a thousand times its size.
_UNPACKED_FREE, _UNPACKED_RATIO = 2**29, 100
# one line holds one answer with its prompt; more than this is another kind of file
_LONGEST_LINE = 2**28


class FileFormatError(ValueError):
    """A file cannot be read as what it is meant to be; the message is one line."""


class ByteProgress:
    """Counts bytes read and reports them to a callable (done, total).

    Parameters
    ----------
    report : callable or None
        Called with the bytes read so far and those of all files.
    total : int
        Bytes of all files.
    """

    def __init__(self, report: Callable[[int, int], None] | None, total: int):
        self._report, self._total, self._done = report, total, 0

    def advance(self, n_bytes: int) -> None:
        """Report that more bytes have been read."""
        self._done += n_bytes
        if self._report is not None:
            self._report(self._done, self._total)


class _Counted(io.RawIOBase):
    """A raw file that reports what is read from it."""

    def __init__(self, raw, progress):
        self._raw, self._progress = raw, progress

    def readable(self):
        return True

    def readinto(self, buffer):
        n = self._raw.readinto(buffer)
        if self._progress is not None:
            self._progress.advance(n)
        return n


class _Unpacked(io.RawIOBase):
    """What an archive unpacks to; damage and more than the limit are errors."""

    def __init__(self, archive, kind, path):
        self._archive, self._kind, self._path = archive, kind, path
        named = os.environ.get("SKLEARN_MIRT_MAX_UNPACKED")
        most = max(_UNPACKED_FREE, _UNPACKED_RATIO * path.stat().st_size)
        self._most, self._done = int(named) if named else most, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        try:
            content = self._archive.read(len(buffer))
        except (EOFError, zlib.error, OSError) as error:
            raise FileFormatError(
                f"{self._path}: the {self._kind} archive is damaged or cut short "
                f"({error})"
            ) from error
        self._done += len(content)
        if self._done > self._most:
            raise FileFormatError(
                f"{self._path}: unpacks to more than {self._most:,} bytes; if that is "
                "what it should hold, set SKLEARN_MIRT_MAX_UNPACKED to more"
            )
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def open_bytes(path, progress: ByteProgress | None = None):
    """Open a file for reading, decompressing gzip and Zstandard by content.

    Yields a binary file. Whatever goes wrong in the body with the file itself is raised
    as a FileFormatError of one line. A file that unpacks to more than 512 MiB and more
    than 100 times its size is refused; the environment variable
    SKLEARN_MIRT_MAX_UNPACKED, in bytes, sets another limit.
    """
    path = Path(path)
    try:
        with open(path, "rb", buffering=0) as raw:
            packed = io.BufferedReader(_Counted(raw, progress), _CHUNK)
            start = packed.peek(4)[:4]
            if start[:2] == _GZIP:
                unpacked = _Unpacked(gzip.GzipFile(fileobj=packed), "gzip", path)
            elif start == _ZSTD:
                unpacked = _Unpacked(_zstd(path, packed), "Zstandard", path)
            else:
                unpacked = None
            yield io.BufferedReader(unpacked) if unpacked else packed
    except FileNotFoundError:
        raise FileFormatError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise FileFormatError(f"{path}: this is a folder, not a file") from None
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise FileFormatError(f"{path}: cannot be read ({reason})") from error


def _zstd(path, file):
    try:
        import pyarrow as pa
    except ImportError:
        raise FileFormatError(
            f"{path}: reading Zstandard needs pyarrow; pip install "
            "'sklearn-mirt[parquet]'"
        ) from None
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")


def read_all(path) -> bytes:
    """Return the content of a file, decompressed."""
    with open_bytes(path) as file:
        return file.read()


def json_lines(path, progress=None, *, pairs_hook=None) -> Iterator[tuple[int, dict]]:
    """Yield line number and object of each line of a JSON lines file.

    Blank lines are passed over. `pairs_hook` is called with the pairs of each object.
    """
    empty = True
    with open_bytes(path, progress) as file:
        for number, line in enumerate(_lines(path, file), start=1):
            if number == 1:
                line = line.removeprefix(_BOM)
            if not line.strip():
                continue
            empty = False
            value = _parse(line, f"{path}, line {number}", pairs_hook)
            if not isinstance(value, dict):
                raise FileFormatError(
                    f"{path}, line {number}: a JSON object was expected, this is a "
                    f"{type(value).__name__}"
                )
            yield number, value
    if empty:
        raise FileFormatError(f"{path}: the file is empty")


def _lines(path, file):
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise FileFormatError(f"{path}: a line of over {_LONGEST_LINE:,} bytes")
        yield line


def json_document(path, progress=None):
    """Return the value of a JSON file."""
    with open_bytes(path, progress) as file:
        content = file.read().removeprefix(_BOM)
    if not content.strip():
        raise FileFormatError(f"{path}: the file is empty")
    return _parse(content, path, None)


def json_array(path, progress=None) -> Iterator[tuple[int, object]]:
    """Yield place, from 1, and value of each element of a file with one JSON array."""
    with open_bytes(path, progress) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        try:
            yield from _elements(path, text)
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{path}: not UTF-8 text (byte {error.object[error.start]:#04x})"
            ) from None


def _elements(path, text) -> Iterator[tuple[int, object]]:
    # not ijson, which refuses the NaN that Python writes into logs
    decode = json.JSONDecoder().raw_decode
    buffer, number, want = "", 0, _CHUNK
    opened = closed = at_end = False
    while True:
        if not at_end:
            more = text.read(want)
            at_end, buffer = not more, buffer + more
        if not opened:
            buffer = buffer.lstrip()
            if buffer[:1] != "[":
                raise FileFormatError(f"{path}: a JSON array was expected")
            buffer, opened = buffer[1:], True
        place = 0
        while True:
            while place < len(buffer) and buffer[place] in " \t\r\n,":
                place += 1
            if place < len(buffer) and buffer[place] == "]":
                closed = True
                break
            try:
                value, end = decode(buffer, place)
            except (ValueError, RecursionError) as error:
                if at_end:
                    raise FileFormatError(
                        f"{path}, element {number + 1}: not JSON, or cut short "
                        f"({_reason(error)})"
                    ) from None
                break
            if end == len(buffer) and not at_end:
                break  # a number may go on in the next piece
            number, place = number + 1, end
            yield number, value
        if closed:
            return
        # an element longer than the buffer: take twice as much at once
        want = _CHUNK if place else 2 * want
        buffer = buffer[place:]


def _parse(content: bytes, where, pairs_hook):
    try:
        return json.loads(content.decode("utf-8"), object_pairs_hook=pairs_hook)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{where}: not UTF-8 text (byte {content[error.start]:#04x})"
        ) from None
    except FileFormatError as error:
        raise FileFormatError(f"{where}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{where}: not JSON, or cut short ({_reason(error)})"
        ) from None


def _reason(error) -> str:
    return " ".join(str(error).split())[:200]


def find_files(folder, matches: Callable[[str], bool]) -> list[Path]:
    """Return the files in a folder, at any depth, whose name matches; sorted.

    Links to folders are not followed, so that a loop of links ends.
    """

    def refuse(error):
        raise FileFormatError(f"{error.filename}: cannot be read ({error.strerror})")

    found = []
    for root, folders, names in os.walk(folder, onerror=refuse):
        folders.sort()
        found += [Path(root, name) for name in sorted(names) if matches(name)]
    return found
