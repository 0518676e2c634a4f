"""The JOBDIR laboratory: the campaign `jobdir` as tables beside the article's, and a figure (docs/jobdir.md)."""
