"""What is kept for the next time: made once, never trusted when damaged, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rankgauge.show.charts import convert
from rankgauge.writers.kept import FOLDER, folder, kept


class Making:
    """What makes a file, and how often it did."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> bytes:
        self.times += 1
        return b"made"


def test_it_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "new" / "folder"))
    make = Making()
    assert [kept("a", make), kept("a", make), kept("b", make)] == [b"made"] * 3
    assert make.times == 2
    assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["a", "b"]


@pytest.mark.parametrize("damaged", [b"", b"made", b"0" * 32 + b"made"])
def test_a_damaged_file_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bytes) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    make = Making()
    (tmp_path / "a").write_bytes(damaged)
    assert kept("a", make) == b"made" == kept("a", make)
    assert make.times == 1


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER, str(tmp_path / "file"))
    make = Making()
    assert [kept("a", make), kept("a", make)] == [b"made"] * 2
    assert make.times == 2


def test_nothing_is_kept_where_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, "")
    monkeypatch.chdir(tmp_path)
    assert kept("a", Making()) == b"made"
    assert list(tmp_path.iterdir()) == []


def test_it_lies_among_the_caches_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for system, usual in {"linux": ".cache/rankgauge", "darwin": "Library/Caches/rankgauge"}.items():
        monkeypatch.setattr("sys.platform", system)
        assert folder() == str(tmp_path / usual)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder() == str(tmp_path / "xdg" / "rankgauge")


def test_the_library_of_charts_is_the_same_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    convert.library.cache_clear()
    try:
        made = convert.library()
        (file,) = tmp_path.iterdir()
        convert.library.cache_clear()
        monkeypatch.setattr(convert, "_bundle", lambda: pytest.fail("made again"))
        assert convert.library() == made == file.read_bytes()[32:].decode()
        assert made.startswith("(()=>{")
        assert "vegaEmbed" in made
    finally:
        convert.library.cache_clear()
