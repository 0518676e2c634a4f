"""What a power cut may leave: derived from a recording by several models, a sample of it tried on a real ext4."""
