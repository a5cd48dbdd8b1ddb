"""Fetches public response sets into a cache folder, with checksums.

Nobody publishes checksums of these files. The checksum of a first download is therefore
written down beside it, and a file that differs from it later is refused. Give
`checksums` to be certain from the start.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from sklearn.utils import Bunch

from sklearn_mirt.banks.interchange import read_mirt_table
from sklearn_mirt.data.files.atomic import replacing
from sklearn_mirt.data.files.read import read_items, read_responses

FLUID_URL = "https://huggingface.co/datasets/allenai/fluid-benchmarking/resolve/main"
FLUID_MODELS = (
    "amber-7b", "k2-65b", "olmo1-7b", "olmo2-7b", "pythia-7b", "pythia-3b",
)  # fmt: skip
FLUID_BENCHMARKS = (
    "arc_challenge", "gsm8k", "hellaswag", "truthfulqa_mc2", "winogrande", "mmlu",
)  # fmt: skip
_SUMS = "checksums.json"


def cache_folder(folder=None) -> Path:
    """Return the folder of fetched files.

    Parameters
    ----------
    folder : path-like, default=None
        Default: the environment variable SKLEARN_MIRT_CACHE, or the folder for caches
        of the operating system.
    """
    if folder is not None:
        return Path(folder)
    named = os.environ.get("SKLEARN_MIRT_CACHE")
    return Path(named) if named else Path(_pooch().os_cache("sklearn-mirt"))


def fetch_file(url, name, *, folder, sha256=None) -> Path:
    """Return the path of a file in the cache, fetching it the first time.

    Parameters
    ----------
    url : str
    name : str
        Path within the folder.
    folder : path-like
        Also holds the checksums of first downloads.
    sha256 : str, default=None
        What the content must have.

    Returns
    -------
    path : Path

    Raises
    ------
    OSError
        The file is neither in the cache nor reachable.
    ValueError
        The content has another checksum than the one asked for, or than at first.
    """
    path = Path(folder) / name
    if not path.resolve().is_relative_to(Path(folder).resolve()):
        raise ValueError(f"the name {name!r} leads out of the folder {folder}")
    sums = _checksums(Path(folder))
    wanted = sha256 or sums.get(name)
    if path.exists():
        found = _pooch().file_hash(path)
        if wanted is not None and found != wanted:
            raise ValueError(
                f"{path}: sha256 {found[:12]}... where {wanted[:12]}... is wanted; the "
                "file has changed, remove it to fetch it anew"
            )
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, force=True) as scratch:
        _download(url, scratch, path)
        found = _pooch().file_hash(scratch)
        if wanted is not None and found != wanted:
            raise ValueError(
                f"{url}: sha256 {found[:12]}... where {wanted[:12]}... is wanted"
            )
    sums[name] = found
    with replacing(Path(folder) / _SUMS, force=True) as scratch:
        scratch.write_text(json.dumps(sums, indent=1, sort_keys=True) + "\n")
    return path


def fetch_fluid_benchmarking(
    benchmark="mmlu", *, model=None, folder=None, base_url=FLUID_URL, checksums=None
):
    """Fetch an item bank of Fluid Benchmarking, and the results of a model.

    Parameters
    ----------
    benchmark : str, default="mmlu"
        arc_challenge, gsm8k, hellaswag, truthfulqa_mc2, winogrande or mmlu.
    model : str, default=None
        amber-7b, k2-65b, olmo1-7b, olmo2-7b, pythia-7b or pythia-3b: the answers of its
        pretraining checkpoints to the items of the benchmark.
    folder : path-like, default=None
        See :func:`cache_folder`.
    base_url : str
        Where the repository of the data set is.
    checksums : mapping from file name to sha256, default=None

    Returns
    -------
    data : Bunch
        bank (ItemBank of one dimension, from columns a and b of the logit
        a (theta - b)); responses (ResponseData of the checkpoints on items of the bank)
        if `model` is given; paths.

    References
    ----------
    Hofmann et al. (2025), *Fluid Language Model Benchmarking*. Licence of the data:
    CC-BY-4.0.
    """
    _known("benchmark", benchmark, FLUID_BENCHMARKS)
    names = [f"data/irt_models/{benchmark}.csv"]
    if model is not None:
        _known("model", model, FLUID_MODELS)
        names.append(f"data/lm_eval_results/{model}.csv")
    paths = _fetch_all(names, "fluid-benchmarking", folder, base_url, checksums)
    bank = read_mirt_table(paths[0])
    found = Bunch(bank=bank, paths=paths)
    if model is not None:
        found.responses = _of_items(paths[1], set(bank.items.ids))
    return found


def fetch_benchmirt(
    base_url,
    *,
    responses="eval_results.csv",
    questions="question_metadata.csv",
    folder=None,
    checksums=None,
):
    """Fetch responses and question metadata in the files of BenchMIRT.

    Parameters
    ----------
    base_url : str
        Folder with the files; data sets are in the collection
        https://huggingface.co/collections/allenai/benchmirt, a file of which has an
        address that ends in ``/resolve/main/<file>``.
    responses : str, default="eval_results.csv"
        File with `question_id` and one column `acc_norm_<model>` per model.
    questions : str, default="question_metadata.csv"
        File with `question_id`, `benchmark`, `category`...
    folder : path-like, default=None
        See :func:`cache_folder`.
    checksums : mapping from file name to sha256, default=None

    Returns
    -------
    data : Bunch
        responses (ResponseData), item_table (DataFrame by item id), notes, paths.
    """
    names = [responses, questions]
    paths = _fetch_all(names, "benchmirt", folder, base_url, checksums)
    items = read_items(paths[1])
    loaded = read_responses(paths[0], layout="benchmirt", items=items)
    return Bunch(
        responses=loaded.data,
        item_table=items.loc[loaded.data.items],
        notes=loaded.notes,
        paths=paths,
    )


def _known(kind, name, names):
    if name not in names:
        raise ValueError(f"{kind} must be one of {', '.join(names)}; got {name!r}")


def _fetch_all(names, subfolder, folder, base_url, checksums) -> list[Path]:
    base, checksums = base_url.rstrip("/"), checksums or {}
    folder = cache_folder(folder) / subfolder
    return [
        fetch_file(f"{base}/{name}", name, folder=folder, sha256=checksums.get(name))
        for name in names
    ]


def _of_items(path, wanted):
    """Return the responses to some items, whichever side of the table they stand on."""
    for layout in ("items-as-rows", "wide"):
        data = read_responses(path, layout=layout).data
        chosen = [k for k, name in enumerate(data.items) if name in wanted]
        if chosen:
            return data.take(items=chosen)
    raise ValueError(f"{path}: none of its rows or columns is an item of the bank")


def _checksums(folder: Path) -> dict:
    path = folder / _SUMS
    return json.loads(path.read_text()) if path.exists() else {}


def _download(url: str, scratch: Path, path: Path) -> None:
    """Fetch into a scratch file; `path` is where the file will be."""
    pooch = _pooch()
    try:
        pooch.HTTPDownloader(timeout=60)(url, str(scratch), None)
    except Exception as error:
        raise OSError(
            f"{url} cannot be fetched ({_reason(error)}); without a network, fetch it "
            f"elsewhere and put it at {path}"
        ) from error


def _reason(error: BaseException) -> str:
    """Return what an error of requests is about: the innermost one says it."""
    inner: object = error
    while isinstance(inner, BaseException):
        error = inner
        inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return " ".join(str(error).split())[:200] or type(error).__name__


def _pooch():
    try:
        import pooch
    except ImportError:
        raise ImportError(
            "fetching needs pooch; pip install 'sklearn-mirt[fetch]'"
        ) from None
    return pooch
