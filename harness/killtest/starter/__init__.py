"""What `killtest init` does: watch a crawler that is not known yet, and write its manifest."""
