"""Maps functions over the workers of the current Dask client, or in this process."""

import sys


def current_client():
    """Return the Dask client that is current, or None."""
    distributed = sys.modules.get("distributed")  # without it there is no client
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def cluster_map(client):
    """Return map(function, values) as a list, over a client or in this process."""
    if client is None:
        return lambda function, values: [function(value) for value in values]
    return lambda function, values: gathered(
        client, client.map(function, values, pure=False)
    )


def gathered(client, futures):
    """Return the results of futures; cancel all of them after an error."""
    try:
        return client.gather(futures)
    except BaseException:
        client.cancel(futures)
        raise
