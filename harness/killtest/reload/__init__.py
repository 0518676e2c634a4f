"""The code of a subject, and the edits that are made to it while it runs."""
