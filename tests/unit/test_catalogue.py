"""The catalogue and the pictures: pure functions of seed, number and version."""

from __future__ import annotations

import struct
import time

import pytest
from killtest_testsite.catalogue import Catalogue
from killtest_testsite.image import IMAGE_BYTES, image

FIELDS = ("title", "price", "currency", "availability")


def test_the_same_seed_makes_the_same_products() -> None:
    one, two = Catalogue(1, 500), Catalogue(1, 500)
    assert [one.product(n, 3) for n in range(1, 501)] == [two.product(n, 3) for n in range(1, 501)]


def test_another_seed_makes_other_products() -> None:
    one, two = Catalogue(1, 100), Catalogue(2, 100)
    assert sum(one.product(n).price == two.product(n).price for n in range(1, 101)) < 10


def test_values_are_pinned_so_that_stored_evidence_stays_judgeable() -> None:
    product = Catalogue(1, 500).product(3)
    assert product.sku == "SKU-00003"
    assert product.title == "Über übersack 3"
    assert (product.price, product.currency, product.availability) == ("802.11", "CHF", "2 to 3 days")


def test_a_catalogue_does_not_depend_on_its_size() -> None:
    assert Catalogue(1, 30).product(7) == Catalogue(1, 500).product(7)


def test_keys_have_five_digits_or_as_many_as_needed() -> None:
    assert Catalogue(1, 500).key(7) == "SKU-00007"
    assert Catalogue(1, 1_000_000).key(7) == "SKU-0000007"


@pytest.mark.parametrize("number", [1, 7, 499])
def test_a_new_version_changes_every_field_but_the_sku(number: int) -> None:
    catalogue = Catalogue(1, 500)
    for version in range(12):
        old, new = catalogue.product(number, version), catalogue.product(number, version + 1)
        assert old.sku == new.sku
        assert [f for f in FIELDS if getattr(old, f) == getattr(new, f)] == []


def test_titles_and_prices_never_come_back() -> None:
    versions = [Catalogue(1, 500).product(7, version) for version in range(2000)]
    assert len({v.title for v in versions}) == len({v.price for v in versions}) == 2000


def test_titles_need_decoding() -> None:
    titles = "".join(Catalogue(1, 200).product(n).title for n in range(1, 201))
    assert all(sign in titles for sign in "&<\"'")
    assert not titles.isascii()


@pytest.mark.parametrize("number", [0, -1, 501])
def test_a_number_outside_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=rf"no product {number}: the catalogue has 1 to 500"):
        Catalogue(1, 500).product(number)


def test_the_last_of_a_billion_products_is_as_quick_as_the_first() -> None:
    started_s = time.perf_counter()
    assert Catalogue(1, 10**9).product(10**9).sku == "SKU-1000000000"
    assert time.perf_counter() - started_s < 0.1


def test_a_picture_is_a_valid_bmp_of_fixed_size() -> None:
    data = image(1, 7, 0)
    assert len(data) == IMAGE_BYTES == struct.unpack_from("<I", data, 2)[0]
    width, height, _, bits = struct.unpack_from("<iiHH", data, 18)
    assert data[:2] == b"BM"
    assert width * height * bits // 8 + 54 == IMAGE_BYTES


def test_a_picture_is_a_function_of_seed_product_and_version() -> None:
    assert image(1, 7, 0) == image(1, 7, 0)
    assert len({image(1, 7, 0), image(2, 7, 0), image(1, 8, 0), image(1, 7, 1)}) == 4


def test_two_versions_of_a_picture_share_no_byte_so_a_mixed_file_shows() -> None:
    for number in range(1, 201):
        old, new = image(1, number, 0), image(1, number, 1)
        assert len(old) == len(new)
        assert not any(a == b for a, b in zip(old[54:], new[54:], strict=True))
