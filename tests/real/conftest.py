"""The embedded model for real tests: one engine and one HTTP server for each test process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from perpend.errors import ModelError
from perpend.models.local import model
from perpend.models.local.engine import Engine, Setup
from perpend.models.local.variants import make_variants
from perpend.models.local.weights import find_weights

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is a real test, and one process runs it all: the model is loaded once."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.xdist_group("real"))


@pytest.fixture(scope="session")
def weights() -> Path:
    """The embedded model's file. Skips, with the line to run, where it or the engine is not installed."""
    try:
        model("smollm2")
        return find_weights("smollm2")
    except ModelError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def engine(weights: Path) -> Engine:
    """The model with its chat template, in this process."""
    return Engine(Setup(weights))


@pytest.fixture(scope="session")
def plain(weights: Path) -> Engine:
    """The model without a template, in this process."""
    return Engine(Setup(weights, "completions"))


@pytest.fixture(scope="session")
def llama_server(weights: Path) -> Iterator[str]:
    """The address of the engine's own HTTP server, which is llama-server."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 2048, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.verbosity, params.warmup, params.ui = -1, False, False
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


@pytest.fixture(scope="session")
def variants(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The same weights in other precisions."""
    return make_variants("smollm2", tmp_path_factory.mktemp("variants"))
