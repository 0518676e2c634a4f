"""One module per spider: `parse(page)` and, to tell apart what which code made, `REVISION`."""
