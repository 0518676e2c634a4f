"""The kinds of misbehaviour, a file each: what becomes of a whole answer."""
