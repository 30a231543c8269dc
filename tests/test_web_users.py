"""The app with users: every line of its defence, each with a request that gets through without it."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from sqlalchemy import delete, select, text

from rankgauge.errors import InputError
from rankgauge.raters import users
from rankgauge.store import schema
from rankgauge.store.project import Project, init
from rankgauge.store.store import Store
from rankgauge.web.access import Accounts, Asking, Key, Proxy, local
from rankgauge.web.guard import LARGEST
from rankgauge.web.network import Network
from rankgauge.web.roles import ROLES, is_open, may
from rankgauge.web.serve import server_of
from rankgauge.web.worker import Worker
from web import HOST, Asked, asked, made, write

JUDGMENTS, RUNS = made(4, 2)
PASSWORD = "correct horse"
PEOPLE = {"ann": "rater", "vic": "viewer", "lead": "admin"}
COOKIE = "rankgauge-8765"
FORM = {"sec-fetch-site": "same-origin"}
PROXY = "10.1.2.3"
TRUSTED = Network(trust_header="X-Forwarded-User", trust_from=PROXY)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, list[Path], Worker]]:
    folder = tmp_path_factory.mktemp("users")
    worker = Worker()
    yield (folder, *write(folder, JUDGMENTS, RUNS), worker)
    worker.stop()


Served = Callable[..., Asked]


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Store]:
    """The store of a project with a user of each role."""
    with init(tmp_path / "shop").store(write=True) as store:
        hashed = users.add_user(store, "ann", "rater", PASSWORD, "root")
        for name, role in list(PEOPLE.items())[1:]:
            users.add_user(store, name, role, None, "root")
        stored = select(schema.user.c.password).where(schema.user.c.user_id == hashed.number).scalar_subquery()
        store.writer.write(lambda each: each.execute(schema.user.update().values(password=stored)))
        yield store


@pytest.fixture
def app(files: tuple[Path, Path, list[Path], Worker], people: Store) -> Iterator[Asked]:
    with served(files, people) as each:
        yield each


def served(files: tuple[Path, Path, list[Path], Worker], store: Store | None, **more: Any) -> Any:
    folder, qrels, runs, worker = files
    project = None if store is None else Project(Path(store.where).parent)
    return asked(folder, qrels, runs, worker=worker, project=project, store=store, **more)


def session(store: Store, name: str = "ann") -> dict[str, str]:
    """The header of somebody who has logged in."""
    return {"cookie": f"{COOKIE}={users.log_in(store, name, PASSWORD, None)}"}


def log_in(app: Asked, name: str = "ann", password: str = PASSWORD, to: str = "", **headers: str) -> Any:
    app.client.cookies.clear()
    answer = app.client.post(
        "/login", data={"name": name, "password": password, "to": to}, headers=FORM | {"host": HOST} | headers
    )
    app.client.cookies.clear()
    return answer


def cookie_of(answer: Any) -> dict[str, str]:
    return {"cookie": str(answer.headers["set-cookie"].partition(";")[0])}


def status(app: Asked, headers: dict[str, str], path: str = "/password") -> int:
    app.client.cookies.clear()
    return int(app.client.get(path, headers=headers).status_code)


def lines(store: Store) -> list[tuple[str, str, str | None]]:
    table = schema.audit.c
    asked = select(table.who, table.what, table.address).order_by(table.audit_id)
    return [tuple(row) for row in store.read(lambda connection: connection.execute(asked).all())]


# ---- open to the network ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "judge.example.com"])
def test_others_are_let_in_only_by_log_in_and_under_a_name(people: Store, host: str) -> None:
    named = Network(("judge.example.com",))
    named.check(host, people)
    with pytest.raises(InputError, match="goes with --name"):
        Network().check(host, people)
    with pytest.raises(InputError, match="goes with --name"):
        TRUSTED.check(host, people)
    with pytest.raises(InputError, match="files have no users"):
        named.check(host, None)
    users.disable(people, "lead", "root")
    with pytest.raises(InputError, match="add an admin first: rankgauge user add NAME --role admin"):
        named.check(host, people)
    TRUSTED._replace(names=("judge.example.com",)).check(host, people)


def test_under_another_name_somebody_is_asked_who_they_are(people: Store) -> None:
    """A proxy on this machine opens it to others, too."""
    for host in ("127.0.0.1", "localhost", "::1"):
        Network().check(host, None)
        Network(("judge.example.com",)).check(host, people)
        with pytest.raises(InputError, match=r"--name judge\.example\.com: files have no users"):
            Network(("judge.example.com",)).check(host, None)


@pytest.mark.parametrize("name", ["", "a b", "https://a", "a;script-src *", "a/b", "*", "a\n", "'none'", "a:80", "a,b"])
def test_what_is_no_name_of_a_host_is_refused(people: Store, name: str) -> None:
    for network in (Network((name,)), Network(images_from=(name,))):
        with pytest.raises(InputError, match="is no name of a host"):
            network.check("127.0.0.1", people)
    for address in ("proxy.example.com", "", "10.0.0.0/8"):
        with pytest.raises(InputError, match="is no address"):
            Network(trust_from=address).check("127.0.0.1", people)


def test_files_and_projects_without_users_have_the_key(people: Store) -> None:
    assert isinstance(Network().access(None, 8765), Key)
    assert isinstance(Network().access(people, 8765), Accounts)
    for table in (schema.token, schema.session, schema.user):
        people.writer.write(lambda each, table=table: each.execute(delete(table)))  # type: ignore[misc]
    assert isinstance(Network().access(people, 8765), Key)
    assert isinstance(TRUSTED.access(people, 8765), Accounts)


def test_the_server_answers_to_its_names_and_shows_pictures_of_named_hosts(files: Any, people: Store) -> None:
    network = Network(("Judge.example.com",), ("cdn.example.com", "*.pictures.example"))
    with served(files, people, network=network) as app:
        for host, expected in (
            ("judge.example.com", 200), ("JUDGE.example.com:443", 200), ("localhost:8765", 200),
            ("example.com", 421), ("x.judge.example.com", 421), ("judge.example.com.evil", 421), ("", 421),
        ):  # fmt: skip
            assert app.client.get("/login", headers={"host": host}).status_code == expected, host
        policy = app.client.get("/login").headers["content-security-policy"]
        assert "; img-src 'self' data: cdn.example.com *.pictures.example; connect-src 'self';" in policy
        assert app.client.get("/login", headers={"host": "x"}).headers["content-security-policy"] == policy


# ---- without a person ------------------------------------------------------------------------------------------------


def test_whoever_has_not_logged_in_is_led_to_the_log_in(app: Asked) -> None:
    for path in ("/", "/judge?task=a%20b&x=%2F", "/run?run=s1", "/nowhere", "/password"):
        answer = app.client.get(path)
        assert (answer.status_code, answer.text) == (303, ""), path
        to = urlsplit(answer.headers["location"])
        assert (to.scheme, to.netloc, to.path, parse_qs(to.query)) == ("", "", "/login", {"to": [path]})
    for path in ("/index.json", "/openapi.json", "/index.charts", "/run/queries.json?run=s1"):
        answer = app.client.get(path)
        assert (answer.status_code, answer.json()) == (401, {"error": "log in first", "login": "/login?to=%2F"})
    for method, path in (("POST", "/judge/judgment"), ("POST", "/reread"), ("POST", "/logout"), ("DELETE", "/")):
        answer = app.client.request(method, path, json={}, headers=FORM)
        assert (answer.status_code, answer.json()["login"]) == (401, "/login?to=%2F"), path
    for wrong in ("", "x", "x" * 43):
        assert status(app, {"cookie": f"{COOKIE}={wrong}"}) == 303
        assert app.client.get("/", headers={"authorization": f"Bearer {wrong}"}).status_code == 401
    assert app.client.get("/", params={"key": ""}).status_code == 303


def test_a_script_is_told_the_way_back_to_its_page(app: Asked) -> None:
    for referer, to in (
        (f"http://{HOST}/judge?task=a", "/judge?task=a"),
        ("http://evil.example/judge", "/"),
        (f"http://{HOST}//evil.example", "/"),
        ("", "/"),
    ):
        answer = app.client.post("/judge/judgment", json={}, headers=FORM | {"referer": referer})
        assert parse_qs(urlsplit(answer.json()["login"]).query) == {"to": [to]}


def test_the_log_in_and_the_look_of_pages_are_open(app: Asked) -> None:
    page = app.client.get("/login")
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    linked = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert len(linked) >= 4
    for path in linked:
        assert app.client.get(path).status_code == 200
    assert "Leaderboard" not in page.text


# ---- log-in ----------------------------------------------------------------------------------------------------------


def test_a_log_in_sets_a_cookie_that_no_script_reads_and_no_other_site_sends(app: Asked) -> None:
    answer = log_in(app)
    assert (answer.status_code, answer.headers["location"]) == (303, "/judge")
    first, *others = answer.headers["set-cookie"].split("; ")
    assert first.startswith(f"{COOKIE}=")
    assert {each.lower() for each in others} == {"httponly", "samesite=lax", "path=/", "max-age=604800"}
    assert status(app, cookie_of(answer)) == 200
    other = {"cookie": f"strange={{x}}; {first}; more=1"}
    assert status(app, other) == 200


def test_every_role_begins_where_it_may_be(app: Asked) -> None:
    for name, home in (("ann", "/judge"), ("vic", "/"), ("lead", "/")):
        assert log_in(app, name).headers["location"] == home
        assert log_in(app, name, to="/password").headers["location"] == "/password"
    assert log_in(app, "ann", to="/").headers["location"] == "/judge"
    long = f"/query?query=q02&{'&'.join(['move=2:d7'] * 500)}"
    assert log_in(app, "vic", to=long).headers["location"] == long
    assert log_in(app, "vic", to="/judge?task=a").headers["location"] == "/"
    assert log_in(app, "lead", to="/judge?task=a%20b&x=ä").headers["location"] == "/judge?task=a%20b&x=%C3%A4"


def test_a_form_in_parts_is_a_form(app: Asked) -> None:
    sent = app.client.post("/login", files={"name": (None, "ann"), "password": (None, PASSWORD)}, headers=FORM)
    assert sent.status_code == 303
    uploaded = app.client.post("/login", files={"name": ("x.txt", b"ann"), "password": (None, PASSWORD)}, headers=FORM)
    assert uploaded.status_code == 422


ELSEWHERE = (
    "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "\\/evil.example", "/\t/evil.example",
    "/\n/evil.example", "\t//evil.example", "https://evil.example", "https:evil.example", "javascript:alert(1)",
    "evil.example", "@evil.example", " //evil.example", "/\u2028/evil.example", "", "/x\r\nset-cookie: a=b",
)  # fmt: skip


def test_a_log_in_leads_nowhere_else(app: Asked) -> None:
    for to in ELSEWHERE:
        assert local(to) == "/", to
        assert log_in(app, "lead", to=to).headers["location"] == "/", to
        page = app.client.get("/login", params={"to": to}).text
        assert '<input type="hidden" name="to" value="/">' in page, to


def test_wrong_names_and_passwords_are_told_alike(app: Asked, people: Store) -> None:
    users.disable(people, "vic", "root")
    told = []
    for name, password in (("ann", "wrong"), ("nobody", PASSWORD), ("vic", PASSWORD), ("ann' OR '1'='1", "x")):
        answer = log_in(app, name, password)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        told.append(re.search('role="alert">([^<]*)<', answer.text))
    assert {each[1] for each in told if each} == {"There is no user of this name with this password."}
    assert None not in told


def test_guessing_ends_with_429(app: Asked) -> None:
    for name in ("ann", "nobody"):
        assert [log_in(app, name, "wrong").status_code for _ in range(11)] == [401] * 10 + [429]
        answer = log_in(app, name, PASSWORD)
        assert answer.status_code == 429
        assert "wait 15 minutes, or ask an admin for a new password" in answer.text
        assert 890 < int(answer.headers["retry-after"]) <= 900
    assert log_in(app, "vic").status_code == 303


def test_hostile_names_are_text(app: Asked, people: Store) -> None:
    evil = "<img src=x onerror=alert(1)>\"'{{7*7}}"
    answer = log_in(app, evil, "wrong")
    assert "<img src=x" not in answer.text
    users.add_user(people, evil, "viewer", PASSWORD, "root")
    page = app.client.get("/password", headers=session(people, evil)).text
    assert "&lt;img src=x" in page
    assert "<img src=x" not in page
    assert "49" not in page


# ---- sessions --------------------------------------------------------------------------------------------------------


def test_a_session_is_remembered_without_asking_the_store(
    app: Asked, people: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, reads = session(people), 0
    read = people.read

    def counted(asked: Any) -> Any:
        nonlocal reads
        reads += 1
        return read(asked)

    monkeypatch.setattr(people, "read", counted)
    began = time.monotonic()
    for _ in range(50):
        assert status(app, known) == 200
    looks = time.monotonic() - began + 1
    assert 2 <= reads <= 1 + looks + 1  # the session once, and a look a second


def test_log_out_ends_it_at_once(app: Asked, people: Store) -> None:
    known, other = session(people), session(people)
    assert status(app, known) == status(app, other) == 200
    page = app.client.get("/password", headers=known).text
    assert '<form class="person" method="post" action="/logout">' in page
    answer = app.client.post("/logout", headers=known | FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert (status(app, known), status(app, other)) == (303, 200)
    assert ("ann", "logged out", None) in lines(people)


TAKEN: dict[str, Callable[[Store, str], None]] = {
    "disabled": lambda store, _: users.disable(store, "ann", "root"),
    "new password": lambda store, _: users.set_password(store, "ann", "another horse", "root"),
    "logged out": lambda store, secret: users.log_out(store, secret),
}


@pytest.mark.parametrize("how", TAKEN)
def test_what_another_process_takes_is_gone_within_moments(app: Asked, people: Store, how: str) -> None:
    known = session(people)
    assert status(app, known) == 200
    with Store.open(people.engine.url, write=True) as other:
        TAKEN[how](other, known["cookie"].partition("=")[2])
    gone(lambda: status(app, known) == 303)


def gone(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    """Long before what is remembered would be looked up again."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_token_that_is_revoked_and_a_role_that_is_taken_are_gone(app: Asked, people: Store) -> None:
    token = {"authorization": f"Bearer {users.add_token(people, 'ann', 'ci', 1, 'root')}"}
    lead = session(people, "lead")
    assert (status(app, token, "/password"), status(app, lead, "/index.json")) == (403, 200)
    users.revoke_token(people, "ann", "ci", "root")
    gone(lambda: status(app, token) == 401)
    users.set_role(people, "lead", "rater", "root")
    gone(lambda: status(app, lead, "/index.json") == 403)
    users.set_role(people, "lead", "viewer", "root")
    gone(lambda: status(app, lead, "/index.json") == 200)


def test_whoever_is_looked_up_while_it_is_taken_is_not_remembered(people: Store) -> None:
    """The answer of a moment before must not outlive the change."""
    import anyio

    accounts = Accounts(people, 8765)
    secret = session(people)["cookie"]
    asking = Asking("GET", "/password", "", {b"cookie": secret}, "http")
    find = users.session_user

    def meanwhile(store: Store, secret: str) -> users.User | None:
        found = find(store, secret)
        users.disable(store, "ann", "root")
        accounts.forget()
        return found

    accounts._find["session"] = meanwhile
    anyio.run(accounts.admit, asking)
    accounts._find["session"] = find
    assert getattr(anyio.run(accounts.admit, asking), "status", None) == 303


def test_a_log_in_makes_a_new_session_whatever_the_browser_had(app: Asked, people: Store) -> None:
    """Fixation: what somebody else put into the browser is worth nothing after the log-in."""
    planted = session(people)["cookie"]
    for before in (planted, f"{COOKIE}={'a' * 43}", f"{COOKIE}="):
        answer = log_in(app, cookie=before)
        assert answer.status_code == 303
        assert cookie_of(answer)["cookie"] != before
        assert status(app, {"cookie": before}) == 303
        assert status(app, cookie_of(answer)) == 200


def test_ones_own_password_ends_every_other_session(app: Asked, people: Store) -> None:
    known, other = session(people), session(people)
    assert status(app, known) == status(app, other) == 200

    def change(password: str, new: str, again: str) -> Any:
        form = {"password": password, "new": new, "again": again, "name": "lead", "role": "admin"}
        return app.client.post("/password", data=form, headers=known | FORM)

    for form, expected, words in (
        (("wrong", "another horse", "another horse"), 401, "There is no user"),
        ((PASSWORD, "another horse", "other horse"), 422, "not the same twice"),
        ((PASSWORD, "short", "short"), 422, "8 to 1,000 characters"),
    ):
        answer = change(*form)
        assert answer.status_code == expected
        assert words in answer.text
    answer = change(PASSWORD, "another horse", "another horse")
    assert (answer.status_code, answer.headers["location"]) == (303, "/judge")
    app.client.cookies.clear()
    assert status(app, known) == status(app, other) == 303
    assert status(app, cookie_of(answer)) == 200
    assert log_in(app, "lead").status_code == 303
    assert log_in(app, "ann").status_code == 401
    assert log_in(app, "ann", "another horse").status_code == 303


def test_guessing_the_password_of_a_session_ends_with_429(app: Asked, people: Store) -> None:
    known = session(people)
    form = {"password": "wrong", "new": "another horse", "again": "another horse"}
    told = [app.client.post("/password", data=form, headers=known | FORM).status_code for _ in range(11)]
    assert told == [401] * 10 + [429]
    assert int(app.client.post("/password", data=form, headers=known | FORM).headers["retry-after"]) > 890


def test_guessing_elsewhere_keeps_nobody_out_and_an_admin_unlocks(files: Any, people: Store) -> None:
    """Behind a proxy, as a team has it: somebody else guesses the admin's password."""
    proxied = Network(trust_from="10.0.0.5")
    with served(files, people, network=proxied, peer="10.0.0.5") as app:
        for _ in range(11):
            log_in(app, "lead", "wrong", **{"x-forwarded-for": "1.1.1.1"})
        assert log_in(app, "lead", **{"x-forwarded-for": "1.1.1.1"}).status_code == 429
        assert log_in(app, "lead", **{"x-forwarded-for": "2.2.2.2"}).status_code == 303
        users.set_password(people, "lead", "a new horse", "root")
        assert log_in(app, "lead", "a new horse", **{"x-forwarded-for": "1.1.1.1"}).status_code == 303


def test_a_session_is_no_token_and_a_token_no_session(app: Asked, people: Store) -> None:
    secret = users.log_in(people, "lead", PASSWORD, None)
    token = users.add_token(people, "lead", "ci", 1, "root")
    stored = people.read(
        lambda each: [each.scalar(select(schema.session.c.hash)), each.scalar(select(schema.token.c.hash))]
    )
    assert status(app, {"authorization": f"Bearer {token}"}, "/index.json") == 200
    for wrong in (secret, *stored):
        assert status(app, {"authorization": f"Bearer {wrong}"}, "/index.json") == 401
    for wrong in (token, *stored):
        assert status(app, {"cookie": f"{COOKIE}={wrong}"}, "/index.json") == 401
    assert status(app, {"authorization": f"Basic {token}"}, "/index.json") == 401
    both = {"authorization": "Bearer wrong", "cookie": f"{COOKIE}={secret}"}
    assert status(app, both, "/index.json") == 401


def test_the_store_that_does_not_answer_is_no_way_in(app: Asked, people: Store) -> None:
    known = session(people)
    people.writer.write(lambda connection: connection.execute(text("ALTER TABLE session RENAME TO elsewhere")))
    answer = app.client.get("/index.json", headers=known)
    assert (answer.status_code, answer.text) == (503, "The store does not answer; try again.\n")


# ---- forged writes ---------------------------------------------------------------------------------------------------


FORGED: tuple[dict[str, str], ...] = (
    {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"sec-fetch-site": "none"},
    {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": f"https://{HOST}"},
)  # fmt: skip


def routes(app: Asked) -> list[tuple[str, str]]:
    """Method and path of everything that the app answers."""
    inner: Any = app.guard.app
    return sorted((method, route.path) for route in inner.routes for method in route.methods - {"HEAD"})


def test_a_page_of_somewhere_else_changes_nothing(app: Asked, people: Store) -> None:
    lead, form = session(people, "lead"), {"name": "lead", "password": PASSWORD}
    before = lines(people)
    changing = [(method, path) for method, path in routes(app) if method != "GET"]
    assert {("POST", "/login"), ("POST", "/logout"), ("POST", "/password"), ("POST", "/judge/judgment")} <= {*changing}
    for forged in FORGED:
        for method, path in changing:
            answer = app.client.request(method, path, data=form, headers=lead | forged)
            assert answer.status_code == 403, (path, forged)
            assert "set-cookie" not in answer.headers
        assert status(app, lead | forged) == 200  # looking is no change
    assert lines(people) == before


def test_looking_changes_nothing(app: Asked, people: Store) -> None:
    known = session(people, "lead")
    before = lines(people)
    for _, path in routes(app):
        app.client.cookies.clear()
        if not path.startswith("/static/"):
            app.client.get(path, headers=known)
    assert app.client.get("/logout", headers=known).status_code == 405
    assert app.client.get("/login?name=lead&password=correct%20horse").status_code == 200
    assert lines(people) == before
    assert status(app, known) == 200


# ---- roles -----------------------------------------------------------------------------------------------------------

JUDGING = {"/judge", "/judge.json", "/judge.charts", "POST /judge/queries", "POST /judge/judgment"}
OWN = {"/password", "POST /password", "POST /logout"}
LEADING = {"POST /reread", "POST /tasks", "POST /tasks/close", "POST /tasks/open", "POST /adjudicate"}
LEADING |= {"/adjudicate", "/adjudicate.json", "/adjudicate.charts", "/adjudicate/pair.json"}


def test_the_table_says_what_roles_may() -> None:
    allowed = {role: {row for row, roles in ROLES.items() if role in roles} for role in PEOPLE.values()}
    assert allowed["admin"] == set(ROLES)
    assert allowed["rater"] == JUDGING | OWN
    assert allowed["viewer"] == set(ROLES) - JUDGING - LEADING


def test_every_route_is_in_the_table_and_keeps_to_it(app: Asked, people: Store) -> None:
    rows = [(method, path) for method, path in routes(app) if not path.startswith("/static/")]
    assert {path if method == "GET" else f"{method} {path}" for method, path in rows if not is_open(path)} == set(ROLES)
    assert all("{" not in path for _, path in routes(app))
    for name, role in PEOPLE.items():
        known = session(people, name)
        for method, path in rows:
            app.client.cookies.clear()
            headers = session(people, name) if path == "/logout" else known
            answer = app.client.request(method, path, json={} if method == "POST" else None, headers=headers | FORM)
            assert (answer.status_code == 403) is not may(role, method, path), (role, method, path, answer.text)
            if answer.status_code == 403:
                data = method == "POST" or path.endswith((".json", ".charts"))
                words = json.loads(answer.text)["error"] if data else answer.text
                assert f"{role} may not do this; ask an admin" in words


def test_what_is_not_in_the_table_is_nobodys(app: Asked, people: Store) -> None:
    inner: Any = app.guard.app
    inner.get("/forgotten")(lambda: "here")
    inner.put("/run")(lambda: "here")
    for name in PEOPLE:
        known = session(people, name)
        assert status(app, known, "/forgotten") == status(app, known, "/nowhere") == 404
        answer = app.client.put("/run", headers=known | FORM)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_no_spelling_of_an_address_is_a_way_round_the_table(app: Asked, people: Store) -> None:
    known = session(people)
    for path in (
        "//tasks",
        "/tasks/",
        "/TASKS",
        "/judge/../index.json",
        "/judge%2f..%2findex.json",
        "/;/",
        "/index.json%00",
    ):
        assert app.client.get(f"http://{HOST}{path}", headers=known).status_code in (403, 404), path


def test_pages_lead_only_where_one_may_go(app: Asked, people: Store) -> None:
    viewer = app.client.get("/", headers=session(people, "vic")).text
    assert 'href="/playground"' in viewer
    app.client.cookies.clear()
    rater = app.client.get("/", headers=session(people)).text
    assert 'class="brand" href="/judge"' in rater
    assert not re.search(r'<li><a href="/(compare|funnel|playground|)"', rater)


def test_nobody_becomes_more_by_saying_so(app: Asked, people: Store) -> None:
    """Escalation: who one is comes from the session alone."""
    claims = {"x-forwarded-user": "lead", "remote-user": "lead", "x-user": "lead", "x-role": "admin", "user": "lead"}
    known = session(people)
    for path in ("/index.json?user=lead&role=admin", "/index.json?key=x"):
        assert status(app, known | claims, path) == 403
        assert status(app, claims, path) == 401
    form = {"name": "ann", "password": PASSWORD, "role": "admin", "user": "lead", "to": "/"}
    answer = app.client.post("/login", data=form, headers=FORM | claims)
    assert status(app, cookie_of(answer), "/index.json") == 403
    two = {"cookie": f"{known['cookie']}; user=lead; role=admin"}
    assert status(app, two, "/index.json") == 403
    assert [each.role for each in users.users(people)] == ["rater", "admin", "viewer"]


# ---- a proxy ---------------------------------------------------------------------------------------------------------


def test_a_proxy_says_who_asks(files: Any, people: Store) -> None:
    users.add_user(people, "gone", "admin", None, "root")
    users.disable(people, "gone", "root")
    with served(files, people, network=TRUSTED, peer=PROXY) as app:
        assert status(app, {"x-forwarded-user": "lead"}, "/index.json") == 200
        assert status(app, {"X-Forwarded-User": " vic "}, "/index.json") == 200
        assert status(app, {"x-forwarded-user": "ann"}, "/index.json") == 403
        for name in ("nobody", "gone", "Lead", "lead,ann"):
            answer = app.client.get("/index.json", headers={"x-forwarded-user": name})
            assert answer.status_code == 403
            assert f"there is no user '{name}' here" in answer.text
        assert status(app, {}, "/index.json") == status(app, {"x-forwarded-user": ""}, "/index.json") == 401
        twice = [("x-forwarded-user", "ann"), ("x-forwarded-user", "lead")]
        assert app.client.get("/index.json", headers=twice).status_code == 401
        page = app.client.get("/", headers={"x-forwarded-user": "lead"}).text
        assert "/logout" not in page
        form = {"password": PASSWORD, "new": "another horse", "again": "another horse"}
        assert app.client.post("/password", data=form, headers=FORM | {"x-forwarded-user": "lead"}).status_code == 403
        users.disable(people, "lead", "root")
        gone(lambda: status(app, {"x-forwarded-user": "lead"}, "/index.json") == 403)


@pytest.mark.parametrize("peer", ["10.1.2.4", "127.0.0.1", "::1", "testclient", "::ffff:10.1.2.4"])
def test_what_anybody_else_says_is_dropped(files: Any, people: Store, peer: str) -> None:
    with served(files, people, network=TRUSTED, peer=peer) as app:
        seen: list[Any] = []
        inner: Any = app.guard.app

        async def noted(scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope)
            await inner(scope, receive, send)

        app.guard.app = noted
        forged = {"x-forwarded-user": "lead", "x-forwarded-for": PROXY, "x-forwarded-proto": "https"}
        forged |= {"forwarded": f"for={PROXY}", "x-real-ip": PROXY}
        assert status(app, forged, "/index.json") == 401
        assert status(app, forged | session(people), "/index.json") == 403
        assert "Secure" not in log_in(app, **forged).headers["set-cookie"]
        assert lines(people)[-1] == ("ann", "logged in", peer)
        assert seen
        assert not any(name == b"x-forwarded-user" for scope in seen for name, _ in scope["headers"])


def test_a_proxy_of_both_kinds_of_addresses_is_the_same(files: Any, people: Store) -> None:
    with served(files, people, network=TRUSTED, peer=f"::ffff:{PROXY}") as app:
        assert status(app, {"x-forwarded-user": "lead"}, "/index.json") == 200
    assert Proxy.of("::FFFF:10.1.2.3").address == Proxy.of(PROXY).address


def test_a_proxy_without_a_header_says_where_from_and_whether_by_https(files: Any, people: Store) -> None:
    with served(files, people, network=Network(trust_from=PROXY), peer=PROXY) as app:
        forwarded = {"x-forwarded-proto": "https", "x-forwarded-for": "6.6.6.6, 192.0.2.7"}
        answer = log_in(app, **forwarded)
        assert answer.headers["set-cookie"].endswith("; Secure")
        assert lines(people)[-1] == ("ann", "logged in", "192.0.2.7")  # not what whoever asked put before it
        assert status(app, {"x-forwarded-user": "lead"}, "/index.json") == 401
        known = session(people) | {"x-forwarded-proto": "https"}
        for origin, expected in ((f"https://{HOST}", 303), (f"http://{HOST}", 403)):
            assert app.client.post("/logout", headers=known | {"origin": origin}).status_code == expected


def test_the_server_itself_believes_nobody_on_this_machine(files: Any, people: Store) -> None:
    """uvicorn would take an address that a neighbour on this machine makes up for the proxy's."""
    with served(files, people, network=TRUSTED) as app, socket.create_server(("127.0.0.1", 0)) as listener:
        server = server_of(app.guard)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            gone(lambda: server.started)
            at = f"http://127.0.0.1:{listener.getsockname()[1]}/index.json"
            forged = {"x-forwarded-user": "lead", "x-forwarded-for": PROXY}
            assert httpx2.get(at, headers=forged).status_code == 401
        finally:
            server.should_exit = True
            thread.join()


# ---- size, paths, logs -----------------------------------------------------------------------------------------------


def test_what_is_larger_than_any_form_is_refused(app: Asked, people: Store) -> None:
    large = b"name=ann&password=" + b"x" * LARGEST
    form = FORM | {"content-type": "application/x-www-form-urlencoded"}
    assert app.client.post("/login", content=large, headers=form).status_code == 413
    assert app.client.post("/judge/judgment", content=large, headers=FORM).status_code == 413  # before who asks
    assert app.client.post("/login", content=iter([large[:9], large[9:]]), headers=form).status_code == 413
    assert log_in(app, password="x" * 1001).status_code == 422
    assert not any(what == users.FAILED for _, what, _ in lines(people))


def test_no_path_reaches_the_file_system(app: Asked, people: Store) -> None:
    for known in ({}, session(people, "lead")):
        for path in (
            "/static/../app.py",
            "/static/..%2fapp.py",
            "/static/%2e%2e/%2e%2e/shop.db",
            "/static//etc/passwd",
        ):
            answer = app.client.get(path, headers=known)
            assert answer.status_code in (404, 303), path
            assert "root:" not in answer.text
            assert "import" not in answer.text


def test_secrets_are_in_no_log_and_no_answer(
    app: Asked, people: Store, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    token = users.add_token(people, "ann", "ci", 1, "root")
    wrong = log_in(app, "my passw0rd", "wr0ng horse")
    long = log_in(app, "ann", "l0ng horse" * 200)
    right = log_in(app)
    secret = cookie_of(right)["cookie"].partition("=")[2]
    status(app, {"authorization": f"Bearer {token}x"})
    app.client.post("/logout", headers=cookie_of(right) | FORM)
    said = caplog.text + "".join(capfd.readouterr()) + wrong.text.replace('value="my passw0rd"', "") + long.text
    stored = people.read(lambda each: repr(each.execute(select(schema.audit)).all()))
    for each in (PASSWORD, "wr0ng horse", "l0ng horse", "my passw0rd", secret, token):
        assert each not in said + stored
    assert [what for _, what, _ in lines(people)][-3:] == ["log-in failed", "logged in", "logged out"]
