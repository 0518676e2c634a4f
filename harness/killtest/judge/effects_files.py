"""The pictures that the subject stored, against those that were served. Pure."""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from zlib import decompress

import msgspec

from killtest.judge.request_log import Request
from killtest.judge.truth import Product
from killtest.plan.effects import FileNeeds
from killtest.store.effects import StoredFile
from killtest.store.rows import Row

_HAD = (200, 304)  # the client has the whole picture: as sent, or as it says that it has it
Findings = dict[str, dict[str, str]]


class _Known(msgspec.Struct, frozen=True):
    """A picture: whose it is, and in which version."""

    product: Product
    version: int


def judge(
    files: Sequence[StoredFile],
    needs: FileNeeds,
    rows: Mapping[str, Row],
    products: Sequence[Product],
    requests: Iterable[Request],
) -> Findings:
    """What is wrong with the files; `rows` are the stored ones, each of which wants its picture."""
    judged = _Files(products, _newest(requests))
    for file in files:
        judged.take(file, needs.key is not None)
    judged.see_stale()
    missing = {key: "no picture of it" for key in rows if key not in judged.held}
    return {"missing": missing, **judged.found}


class _Files:
    """The files that were looked at, and what was found."""

    def __init__(self, products: Sequence[Product], newest: Mapping[str, int]) -> None:
        self._products = {product.key: product for product in products}
        self._newest = newest
        self._known = {
            version["image_sha256"]: _Known(product, number)
            for product in products
            for number, version in enumerate(product.versions)
        }
        self._whole: dict[str, str] = {}
        self._versions: dict[str, list[tuple[int, str]]] = {}
        # The products of which there is a picture, however it is.
        self.held: set[str] = set()
        self.found: Findings = {"truncated": {}, "wrong": {}, "doubled": {}, "stale": {}}

    def take(self, file: StoredFile, is_keyed: bool) -> None:
        """Look at one more file, whose name carries its key or does not."""
        owner = self._products.get(file.key or "") if is_keyed else None
        if is_keyed and owner is None:
            said = "its name carries no key" if file.key is None else f"{file.key} is no key of this shop"
            self.found["wrong"][file.path] = said
            return
        known = self._known.get(file.sha256)
        if owner is not None:
            self.held.add(owner.key)
        if known is None:
            self._take_damaged(file, owner)
        elif owner is not None and known.product.key != owner.key:
            self.found["wrong"][file.path] = f"the picture of {known.product.key}"
        else:
            self._take_whole(file, known)

    def see_stale(self) -> None:
        """Name the products whose newest stored picture is older than the newest that was served."""
        for key, versions in self._versions.items():
            version, path = max(versions)
            served = self._newest.get(self._products[key].versions[0]["image"], 0)
            if version < served:
                self.found["stale"][path] = f"version {version} of {key} stored, version {served} served"

    def _take_whole(self, file: StoredFile, known: _Known) -> None:
        self.held.add(known.product.key)
        first = self._whole.setdefault(file.sha256, file.path)
        if first != file.path:
            self.found["doubled"][file.path] = f"the same as {first}"
        else:
            self._versions.setdefault(known.product.key, []).append((known.version, file.path))

    def _take_damaged(self, file: StoredFile, owner: Product | None) -> None:
        candidates = list(self._products.values()) if owner is None else [owner]
        whose = {one.key for one in candidates for picture in _pictures(one) if _begins(picture, file)}
        if owner is None and len(whose) == 1:
            self.held |= whose
        longest = max((len(picture) for one in candidates for picture in _pictures(one)), default=0)
        if file.size_bytes >= longest:
            self.found["wrong"][file.path] = f"{file.size_bytes} bytes like no version served"
            return
        kept = f"{file.size_bytes} of {longest} bytes"
        of = f" of {min(whose)}" if len(whose) == 1 else ""
        self.found["truncated"][file.path] = (
            f"the first {kept}{of}" if whose else f"{kept}, and those were never served"
        )


def _pictures(product: Product) -> list[bytes]:
    return [decompress(b64decode(packed)) for packed in product.pictures]


def _begins(picture: bytes, file: StoredFile) -> bool:
    return file.size_bytes < len(picture) and sha256(picture[: file.size_bytes]).hexdigest() == file.sha256


def _newest(requests: Iterable[Request]) -> dict[str, int]:
    """The newest version of each picture that went out in full, or that the client was told to have."""
    newest: dict[str, int] = {}
    for request in requests:
        is_had = request.version and request.outcome == "sent" and request.status in _HAD and not request.is_page
        if is_had and request.method == "GET" and request.version is not None:
            newest[request.path] = max(newest.get(request.path, 0), request.version)
    return newest
