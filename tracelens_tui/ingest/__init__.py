"""Bytes to a Trace: sniffing, decompression, readers, repairs and the cache."""
