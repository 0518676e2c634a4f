"""The spiders, one file each."""
