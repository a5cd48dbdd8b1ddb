"""More respondents than fit: simulate to Parquet, shard, fit, write abilities.

    python benchmarks/dask_scale.py --respondents 100000 --workers 2
    python benchmarks/dask_scale.py --respondents 100000 --workers 0   # streamed

Each step prints its time; at the end comes the peak memory of each process. The folder
of the simulated answers is kept and used again.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse
import json
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

N_FILES = 100


def simulate(folder, n_respondents, n_items, n_answers):
    """Write 100 Parquet files of answers; respondents are spread over all of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    slopes = rng.normal(0, 0.3, (n_items, 2))
    slopes[np.arange(n_items), np.arange(n_items) % 2] = rng.lognormal(0, 0.35, n_items)
    intercepts = rng.normal(0, 1, n_items)
    abilities = rng.standard_normal((n_respondents, 2))
    folder.mkdir(parents=True)
    np.savez(folder / "truth.npz", slopes=slopes, intercepts=intercepts)
    per_file = n_answers // N_FILES or 1
    first = np.arange(n_respondents) * np.int64(2654435761) % n_items
    step = 1 + 2 * (np.arange(n_respondents) % 50)  # answers to items first + k step
    for number in range(-(-n_answers // per_file)):
        k = np.arange(number * per_file, min((number + 1) * per_file, n_answers))
        respondent = np.tile(np.arange(n_respondents), len(k))
        k = np.repeat(k, n_respondents)
        item = (first[respondent] + k * step[respondent]) % n_items
        logit = np.einsum("cd,cd->c", slopes[item], abilities[respondent])
        right = rng.random(len(item)) < 1 / (1 + np.exp(-logit - intercepts[item]))
        table = {"respondent": respondent, "item": item, "score": right.astype(np.int8)}
        part = folder / f"part-{number:03d}.parquet"
        pq.write_table(pa.table(table), part, row_group_size=2**20)


@contextmanager
def timed(step, told):
    start, cpu = time.perf_counter(), time.process_time()
    yield
    told[step] = round(time.perf_counter() - start, 1)
    print(f"{step}: {told[step]} s, CPU here {time.process_time() - cpu:.1f} s")


def cpu_seconds(client):
    """CPU time so far of this process and of the workers."""
    workers = {} if client is None else client.run(time.process_time)
    return time.process_time() + sum(workers.values())


def peak_memory(pid="self"):
    """Largest resident set of a process so far, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(x for x in status.splitlines() if x.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--respondents", type=int, default=2_000_000)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--answers", type=int, default=100, help="of each respondent")
    parser.add_argument("--workers", type=int, default=2, help="0: streamed")
    parser.add_argument("--folder", type=Path, default=Path("dask-scale"))
    parser.add_argument("--shards", type=int, default=None)
    parser.add_argument("--max-iter", type=int, default=200)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    told = {}
    size = (options.respondents, options.items, options.answers)
    source = options.folder / "x".join(map(str, size))
    if not source.exists():
        with timed("simulate", told):
            simulate(source, *size)
    run(options, source, told)


def run(options, source, told):
    from sklearn_mirt import MIRTTransformer, ShardedResponses

    work = options.folder / f"work-{os.getpid()}"
    work.mkdir(parents=True)
    client = None
    if options.workers:
        from distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit="4GB",
            dashboard_address=":0",
        )
        client = Client(cluster)
    try:
        with timed("put into shards", told):
            data = ShardedResponses.from_parquet(
                source, work / "shards", n_shards=options.shards
            )
        print(data)
        mirt = MIRTTransformer(
            n_dims=2, max_iter=options.max_iter, n_jobs=options.n_jobs, verbose=1
        )
        before = cpu_seconds(client)
        with timed("fit", told):
            mirt.fit(data)
        told["CPU seconds of the fit"] = round(cpu_seconds(client) - before, 1)
        with timed("write abilities", told):
            mirt.sharded_abilities_.to_parquet(work / "abilities")
        told["passes"] = mirt.n_iter_
        told["bytes moved"] = mirt.bytes_moved_
        told["memory MB"] = {"this process": peak_memory()}
        if client is not None:
            told["memory MB"] |= client.run(peak_memory)
        told["error of slopes"] = recovered(mirt, source)
        print(json.dumps(told, indent=1))
    finally:
        if client is not None:
            client.close()
            cluster.close()
        shutil.rmtree(work)


def recovered(mirt, source):
    """Root mean squared error of slopes, at best rotation."""
    with np.load(source / "truth.npz") as truth:
        slopes = truth["slopes"][mirt.items_.astype(int)]
    turn = np.linalg.lstsq(mirt.slopes_, slopes, rcond=None)[0]
    return float(np.sqrt(np.mean((mirt.slopes_ @ turn - slopes) ** 2)))


if __name__ == "__main__":
    main()
