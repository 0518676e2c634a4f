"""The picture of a product: a small symmetrical pattern as an uncompressed 24-bit BMP. Pure.

BMP because its length depends on nothing but the size: every picture, in every version, has the same number
of bytes, so a file put together from two versions has the right length and the wrong contents.
"""

from __future__ import annotations

import struct

from .catalogue import fingerprint

_CELLS = 6
_CELL_PIXELS = 8
_SIDE_PIXELS = _CELLS * _CELL_PIXELS
_HEADER_BYTES = 54

# 48 pixels of 3 bytes make rows of 144 bytes: a multiple of four, so BMP rows need no padding.
IMAGE_BYTES = _HEADER_BYTES + _SIDE_PIXELS * _SIDE_PIXELS * 3

_HEADER = struct.pack(
    "<2sIHHIIiiHHIIiiII",
    *(b"BM", IMAGE_BYTES, 0, 0, _HEADER_BYTES),
    *(40, _SIDE_PIXELS, _SIDE_PIXELS, 1, 24, 0, IMAGE_BYTES - _HEADER_BYTES, 2835, 2835, 0, 0),
)


def image(seed: int, number: int, version: int) -> bytes:
    """The bytes of a product's picture, `IMAGE_BYTES` of them; a function of the arguments alone."""
    raw = fingerprint(seed, number, f"image {version}")
    # Odd channels in odd versions, even ones in even versions: neighbouring versions share no byte.
    parity = version % 2
    ink, paper = (bytes((byte & 0xFE) | parity for byte in raw[i : i + 3]) for i in (0, 3))
    bits = int.from_bytes(raw[6:10])
    rows = [_row(bits >> (3 * i), ink, paper) for i in range(_CELLS)]
    return _HEADER + b"".join(row * _CELL_PIXELS for row in rows)


def _row(bits: int, ink: bytes, paper: bytes) -> bytes:
    """One row of pixels: three cells chosen by three bits, then the same mirrored."""
    cells = [(ink if bits >> i & 1 else paper) * _CELL_PIXELS for i in range(_CELLS // 2)]
    return b"".join(cells + cells[::-1])
