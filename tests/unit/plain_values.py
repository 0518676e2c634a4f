"""Plain data of any shape, as hypothesis draws them."""

from hypothesis import strategies as st

ATOMS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
KEYS = st.text(max_size=5) | st.integers() | st.binary(max_size=5) | st.booleans() | st.none()
VALUES = st.recursive(ATOMS, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner))
