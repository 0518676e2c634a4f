"""Pieces of a file as a sequence: each is read and decoded anew whenever it is asked for.

A million stored rows as objects take more than a gigabyte; where they stand in their file takes twelve megabytes.
"""

import weakref
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar, overload

T = TypeVar("T")


class Pieces(Sequence[T], Generic[T]):
    """Some pieces of the file at `path`, such as its lines, which must stay as it is."""

    def __init__(self, path: Path, decode: Callable[[bytes], T]) -> None:
        """None as yet; `add` says where they are, and `decode` makes of their bytes what they mean."""
        self._path = path
        self._decode = decode
        self._offsets = array("q")
        self._lengths = array("q")
        self._file: BinaryIO | None = None

    def add(self, offset: int, length: int) -> None:
        """One more piece, of that many bytes from `offset` on."""
        self._offsets.append(offset)
        self._lengths.append(length)

    def chosen(self, places: Iterable[int]) -> "Pieces[T]":
        """The pieces at these places, in that order."""
        found = Pieces(self._path, self._decode)
        for place in places:
            found.add(self._offsets[place], self._lengths[place])
        return found

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[T]:
        with self._path.open("rb") as file:
            for offset, length in zip(self._offsets, self._lengths, strict=True):
                file.seek(offset)
                yield self._decode(file.read(length))

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> "Pieces[T]": ...

    def __getitem__(self, index: int | slice) -> "T | Pieces[T]":
        if isinstance(index, slice):
            return self.chosen(range(len(self))[index])
        if self._file is None:
            # Neighbours are often asked for one after another; more than a page would be read in vain elsewhere.
            self._file = self._path.open("rb", buffering=4096)
            weakref.finalize(self, self._file.close)
        self._file.seek(self._offsets[index])
        return self._decode(self._file.read(self._lengths[index]))
