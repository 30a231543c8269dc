"""The client of chat completions: what is sent, what is given up, what stops, and how many calls each costs."""

from __future__ import annotations

from typing import Any

import pytest

from rankgauge.errors import InputError
from rankgauge.judge.chat import Ability, Chat

pytest.importorskip("httpx2", reason="the extra loop is not installed")

URL = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, r"\$\{THE_KEY\} is not set; set it in the environment: export THE_KEY=…"),
        ("", r"\$\{THE_KEY\} is not set"),
        ("sk-1234567890\n", r"\$\{THE_KEY\} has a newline in it; set it again: export THE_KEY=…"),
        ("sk-1234\n567890", r"\$\{THE_KEY\} has a newline in it"),
        ("sk-1234 567890", r"\$\{THE_KEY\} has what no header can hold"),
        ("schlüssel", r"\$\{THE_KEY\} has what no header can hold"),
    ],
)
def test_a_bad_key_is_one_error_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, value: str | None, words: str
) -> None:
    monkeypatch.delenv("THE_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("THE_KEY", value)
    with pytest.raises(InputError, match=f"^the test: {words}") as error:
        Chat(URL, "m", "${THE_KEY}", where="the test")
    assert "1234" not in str(error.value)


def test_the_usual_variable_is_the_key_unless_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    with pytest.raises(InputError, match="OPENAI_API_KEY is empty; set it, or unset it"):
        Chat(URL, "m")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1234567890")
    assert Chat(URL, "m").headers == {"Authorization": "Bearer ${OPENAI_API_KEY}"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"key": "sk-1234567890"}, r"key is written outright, and would be stored; write \$\{NAME\} for it"),
        ({"key": " "}, r"key is empty; write \$\{NAME\} for it"),
        ({"base_url": "api.example.com/v1"}, "base_url = 'api.example.com/v1' is no address"),
        ({"base_url": f"{URL}/chat/completions/"}, "leave /chat/completions out"),
    ],
)
def test_what_cannot_be_a_server_is_one_error(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        Chat(**{"base_url": URL, "model": "m", **given})
    assert "1234" not in str(error.value)


def test_what_a_server_takes_can_be_kept() -> None:
    found = Ability("json_object", ("seed", "temperature"), True, 5)
    assert Ability.of(found.to_dict()) == found
    assert Ability.of(Ability().to_dict()) == Ability()
