"""The pages of a campaign: an index, a page for each trial that kept its evidence, maps of crash points.

Python gathers what is shown as plain data, the scripts beside it draw that; neither fetches anything.
"""
