"""The suite's parameters: every adapter that can do what a test needs."""

import pytest

from core.providers import adapters
from core.types import Adapter
from tests.contract.case import Case, cases


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*abilities): what a case must be able to show")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test a case, for the cases that can do all that the test needs."""
    if "case" not in metafunc.fixturenames:
        return
    needed = {
        ability for marker in metafunc.definition.iter_markers("needs") for ability in marker.args
    }
    able = [case for case in cases().values() if needed <= case.can]
    metafunc.parametrize("case", able, ids=[case.name for case in able])


@pytest.fixture
def adapter(case: Case) -> Adapter:
    return adapters()[case.name]


@pytest.fixture(autouse=True)
def no_ambient_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The developer's own keys and proxies stay out of the tests."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "TURNTREE_COMPATIBLE_URL"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
