"""Labelled rows: checked once, then trusted; in blocks in memory, on disk, or on a Dask cluster."""
