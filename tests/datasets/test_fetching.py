"""Public sets, fetched from a server of our own with files in their layout."""

import functools
import http.server
import threading

import numpy as np
import pytest

from sklearn_mirt.datasets import fetch_benchmirt, fetch_fluid_benchmarking
from sklearn_mirt.datasets.fetching import cache_folder, fetch_file

pytest.importorskip("pooch")


@pytest.fixture
def server(tmp_path):
    """A folder behind a local HTTP server: (folder, address, list of requests)."""
    root, asked = tmp_path / "server", []
    root.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    handler = functools.partial(Handler, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield root, f"http://127.0.0.1:{running.server_address[1]}", asked
        running.shutdown()
        thread.join()


@pytest.fixture
def fluid(server):
    """Files as in the repository of the data set: index without a name, a and b."""
    root = server[0] / "data"
    (root / "irt_models").mkdir(parents=True)
    (root / "lm_eval_results").mkdir()
    (root / "irt_models" / "gsm8k.csv").write_text(
        ",a,b\ngsm8k_1,1.5,0.5\ngsm8k_2,0.5,-1.0\n"
    )
    (root / "lm_eval_results" / "olmo1-7b.csv").write_text(
        ",step1,step2\ngsm8k_1,0.0,1.0\ngsm8k_2,1.0,\nmmlu_1,0.25,0.5\n"
    )
    return server


def test_a_bank_and_results_of_fluid_benchmarking(fluid, tmp_path):
    _, address, asked = fluid
    options = {"folder": tmp_path / "cache", "base_url": address, "model": "olmo1-7b"}
    data = fetch_fluid_benchmarking("gsm8k", **options)
    # the logit a (theta - b) at theta = 1
    logits = data.bank.items.logit([[1.0]])[0]
    np.testing.assert_allclose(logits, [1.5 * 0.5, 0.5 * 2.0])
    assert data.responses.items.tolist() == ["gsm8k_1", "gsm8k_2"]
    assert data.responses.respondents.tolist() == ["step1", "step2"]
    np.testing.assert_array_equal(data.responses.to_wide(), [[0, 1], [1, np.nan]])
    assert len(asked) == 2
    fetch_fluid_benchmarking("gsm8k", **options)
    assert len(asked) == 2  # from the cache


def test_benchmirt_files(server, tmp_path):
    root, address, _ = server
    (root / "eval_results.csv").write_text(
        "question_id,subset,acc_norm_m1,acc_norm_m2\nbbh_1,x,1.0,0.0\nmath_1,y,,1.0\n"
    )
    (root / "question_metadata.csv").write_text(
        "question_id,benchmark,category,question_text\n"
        'math_1,math,General Reasoning,"a,\nb"\nbbh_1,bbh,General Reasoning,c\n'
    )
    data = fetch_benchmirt(address, folder=tmp_path / "cache")
    assert data.item_table["benchmark"].tolist() == ["bbh", "math"]
    np.testing.assert_array_equal(data.responses.to_wide(), [[1, np.nan], [0, 1]])


def test_checksums_are_kept_and_checked(fluid, tmp_path):
    root, address, _ = fluid
    cache = tmp_path / "cache"
    get = functools.partial(
        fetch_fluid_benchmarking, "gsm8k", folder=cache, base_url=address
    )
    path = get().paths[0]
    path.write_text(path.read_text().replace("1.5", "9.5"))
    with pytest.raises(ValueError, match="the file has changed, remove it"):
        get()
    path.unlink()
    (root / "data" / "irt_models" / "gsm8k.csv").write_text(",a,b\nx,1,1\n")
    with pytest.raises(ValueError, match="where .* is wanted"):
        get()
    assert not path.exists()
    with pytest.raises(ValueError, match="sha256 .* where 000"):
        fetch_file(
            f"{address}/data/irt_models/gsm8k.csv",
            "other.csv",
            folder=cache,
            sha256="0" * 64,
        )


def test_a_missing_file_and_no_network_say_so(fluid, tmp_path):
    _, address, _ = fluid
    with pytest.raises(OSError, match="mmlu.csv cannot be fetched .*404"):
        fetch_fluid_benchmarking("mmlu", folder=tmp_path, base_url=address)
    place = r"Connection refused.*put it at .*fluid-benchmarking.data.irt_models.mmlu"
    with pytest.raises(OSError, match=f"cannot be fetched .*{place}"):
        fetch_fluid_benchmarking("mmlu", folder=tmp_path, base_url="http://127.0.0.1:9")
    assert not list(tmp_path.glob("fluid-benchmarking/**/*.csv"))
    with pytest.raises(ValueError, match="benchmark must be one of arc_challenge"):
        fetch_fluid_benchmarking("x", folder=tmp_path)


def test_the_cache_folder_can_be_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SKLEARN_MIRT_CACHE", str(tmp_path / "there"))
    assert cache_folder() == tmp_path / "there"
    assert cache_folder(tmp_path / "x") == tmp_path / "x"
    monkeypatch.delenv("SKLEARN_MIRT_CACHE")
    assert "sklearn-mirt" in str(cache_folder())
