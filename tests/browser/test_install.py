"""Which browser the tests take, and what is said when there is none."""

from pathlib import Path

import pytest

from tests.browser import install


def program(path: Path, code: int = 0) -> Path:
    path.write_text(f"#!/bin/sh\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without a browser and without a way to get one."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(install.VARIABLE, raising=False)
    monkeypatch.setattr(install, "MAC", ())
    monkeypatch.setattr(install, "_playwrights_own", lambda: None)
    monkeypatch.setattr(install, "_ways", lambda: iter(()))
    return tmp_path


def test_the_browser_that_a_person_names_comes_first(
    nothing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(nothing / "chromium")
    mine = program(nothing / "mine")
    monkeypatch.setenv(install.VARIABLE, str(mine))
    assert install.find() == str(mine)
    assert install.main() == 0


def test_one_that_does_not_start_is_passed_over(
    nothing: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = program(nothing / "chromium-browser")
    program(nothing / "chromium", code=1)
    monkeypatch.setenv(install.VARIABLE, str(nothing / "missing"))
    assert install.main() == 0
    assert "does not start" in capsys.readouterr().out
    assert install.find() == str(found)


def test_without_any_it_says_what_to_do(nothing: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install.main() == 1
    assert install.VARIABLE in capsys.readouterr().out


def test_one_that_a_way_brings_is_used(nothing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bring = f"printf '#!/bin/sh\\n' > {nothing}/chromium; /bin/chmod +x {nothing}/chromium"
    monkeypatch.setattr(install, "_ways", lambda: iter([["/bin/sh", "-c", bring]]))
    assert install.main() == 0
    assert install.find() == str(nothing / "chromium")
