"""Where blocks are computed: threads, from disk, on a Dask cluster."""
