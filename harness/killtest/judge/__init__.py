"""The judge: evidence in, verdict out. Pure but for reading the evidence from its folder."""
