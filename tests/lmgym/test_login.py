"""`lmgym login`, and messages of commands about unusable sites."""

from __future__ import annotations

import copy
import http.server
import io
import json
import re
import stat
import threading

import pytest

from lmgym.cli import login_file, main
from lmgym.client import ApiError, Client, transport
from tests.lmgym.suites.documents import suite_bytes

INDEX = {"suites": "", "models": "", "runs": ""}


class Site(http.server.BaseHTTPRequestHandler):
    """Fake LM Gym site with one token; `answers` replaces responses by address."""

    answers: dict[str, tuple[int, str, object]] = {}
    moved: dict[str, str] = {}
    tokens_seen: list[str] = []

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        place = self.path.removeprefix("/api/v1/").split("?")[0]
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.tokens_seen.append(token)
        if token not in ("", "lmg_good"):
            status, kind, body = (
                401,
                "application/problem+json",
                {"code": "not-authenticated", "detail": "No such token."},
            )
        elif place in self.answers:
            status, kind, body = self.answers[place]
        elif place in self.moved:
            status, kind, body = 307, "text/html", ""
        else:
            found = {"": INDEX, "me/": {"username": "alice"}, "suites/": {"results": [], "next": None}}
            status, kind, body = 200, "application/json", found[place]
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        if place in self.moved:
            self.send_header("Location", self.moved[place])
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_PUT = do_POST = do_GET

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(autouse=True)
def alone(tmp_path, monkeypatch):
    """No stored login, and no retries."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("LM_GYM_SITE", "LM_GYM_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(transport, "TRIES", 1)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr(Site, "answers", {})
    monkeypatch.setattr(Site, "tokens_seen", [])
    monkeypatch.setattr(Site, "moved", {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, args=(0.005,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def login(monkeypatch, site: str, token: str = "lmg_good") -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{token}\n"))
    return main(["login", site])


def test_the_file_is_for_its_owner_alone_and_logout_deletes_it(monkeypatch, site, capsys):
    assert login(monkeypatch, f"{site}/") == 0
    place = login_file.path()
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert json.loads(place.read_text()) == {"site": site, "token": "lmg_good"}
    out, err = capsys.readouterr()
    assert (out, "as alice" in err, "lmg_good" in err) == ("", True, False)
    place.chmod(0o644)
    assert login(monkeypatch, site) == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert main(["logout"]) == 0
    assert not place.exists()
    assert main(["logout"]) == 0
    assert "You were not logged in." in capsys.readouterr().err


def test_a_wrong_token_is_not_stored(monkeypatch, site, capsys):
    assert login(monkeypatch, site, "lmg_bad") == 2
    assert "rejected the token: No such token." in capsys.readouterr().err
    assert login(monkeypatch, site, "") == 2
    assert "Not a token" in capsys.readouterr().err
    assert not login_file.path().exists()


def test_commands_use_the_login_and_its_token_goes_to_no_other_site(monkeypatch, site):
    assert login(monkeypatch, site) == 0
    Site.tokens_seen.clear()
    assert main(["suites", "list"]) == 0
    assert set(Site.tokens_seen) == {"lmg_good"}
    Site.tokens_seen.clear()
    assert main(["suites", "list", "--site", site.replace("127.0.0.1", "localhost")]) == 0
    assert set(Site.tokens_seen) == {""}
    monkeypatch.setenv("LM_GYM_SITE", site.replace("127.0.0.1", "localhost"))
    monkeypatch.setenv("LM_GYM_TOKEN", "lmg_good")
    Site.tokens_seen.clear()
    assert main(["suites", "list"]) == 0
    assert set(Site.tokens_seen) == {"lmg_good"}


REMOTE = [
    ["suites", "list"], ["models", "list"], ["models", "check", "m"], ["pull", "s"], ["run", "s", "-m", "m"],
    ["wait", "r"], ["export"], ["compare", "--site", "a", "b"], ["score", "--site", "-m", "m", "Hello."],
    ["lmc", "stats", "--site", "g"], ["lmc", "play", "c", "--game", "wp", "--player", "adaptive"],
    ["propara", "leaderboard", "s"], ["propara", "explain", "--site", "x"], ["agents", "compare", "a", "b"],
]  # fmt: skip


@pytest.mark.parametrize("argv", REMOTE, ids=" ".join)
def test_without_a_site_every_command_says_what_to_run(capsys, argv):
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, "Run: lmgym login https://" in err, err.count("\n")) == ("", True, 1)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((200, "text/html", "<html>"), "not JSON. Is this the address of an LM Gym site?"),
        ((200, "application/json", {"hello": 1}), "responds, but it is not an LM Gym site."),
        ((200, "application/json", [1]), "responds, but it is not an LM Gym site."),
        ((404, "text/html", "<html>"), "Is this the address of an LM Gym site?"),
        ((301, "text/html", ""), "Is this the address of an LM Gym site?"),
    ],
)
def test_another_program_is_said_to_be_no_lm_gym(monkeypatch, site, capsys, answer, says):
    Site.answers[""] = answer
    assert main(["suites", "list", "--site", site]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://127.0.0.1:9", "127.0.0.1:9 does not respond"),
        ("ftp://127.0.0.1", "is not the address of a site"),
        ("gopher", "is not the address of a site"),
    ],
)
def test_a_site_that_is_not_there_is_one_sentence(monkeypatch, capsys, address, says):
    monkeypatch.setenv("LM_GYM_SITE", address)
    assert main(["suites", "list"]) == 2
    assert says in capsys.readouterr().err


def test_a_damaged_login_says_how_to_start_over(capsys):
    login_file.path().parent.mkdir(parents=True)
    login_file.path().write_text("{")
    assert main(["suites", "list"]) == 2
    assert "Delete it with lmgym logout" in capsys.readouterr().err
    assert main(["logout"]) == 0


@pytest.mark.parametrize("end", ["\n", "\r\n", " "])
def test_white_space_around_a_token_is_ignored(site, capsys, monkeypatch, end):
    monkeypatch.setenv("LM_GYM_TOKEN", f"lmg_good{end}")
    assert main(["suites", "list", "--site", site]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("token", ["lmg_secret # of alice", "lmg_secret\nlmg_other", "“lmg_secret”"])
def test_what_cannot_be_a_token_is_refused_without_repeating_it(site, capsys, monkeypatch, token):
    monkeypatch.setenv("LM_GYM_TOKEN", token)
    assert main(["suites", "list", "--site", site]) == 2
    said = capsys.readouterr().err
    assert "The token has characters that no token has." in said
    assert "secret" not in said


def test_an_error_response_comes_back_from_another_process():
    error = transport.ApiError(404, {"code": "not-found", "detail": "There is no such suite."})
    again = copy.copy(error)  # as pickle does
    assert (again.status, again.code, str(again)) == (404, "not-found", "There is no such suite.")


@pytest.mark.parametrize("argv", [["runs", "cancel"], ["push", "s.json"], ["upload", "s.json"]], ids=" ".join)
def test_a_command_that_needs_an_account_says_how_to_log_in(site, tmp_path, capsys, argv):
    refusal = 401, "application/problem+json", {"code": "not_authenticated", "detail": "No credentials."}
    Site.answers |= dict.fromkeys(("runs/many/", "suites/", "uploads/"), refusal)
    (tmp_path / "s.json").write_bytes(suite_bytes())
    assert main([*argv, "--site", site]) == 2
    err = capsys.readouterr().err
    assert "No credentials." in err
    assert "Log in with: lmgym login https://…" in err


@pytest.fixture
def client(site):
    return Client(site, "lmg_good")


def test_a_renamed_suite_is_read_and_changed_under_its_old_name(client):
    Site.moved["suites/old/draft/"] = "/api/v1/suites/new/draft/"
    Site.answers["suites/new/draft/"] = (200, "application/json", {"revision": 2})
    assert client.get("suites/old/draft/") == {"revision": 2}
    assert client.put_draft("old", "new.json", b"{}") == 2
    assert set(Site.tokens_seen) == {"lmg_good"}


@pytest.mark.parametrize("elsewhere", ["http://localhost:{port}/api/v1/suites/s/", "/elsewhere/suites/s/"])
def test_a_redirect_that_leaves_the_sites_api_is_named_and_not_followed(client, site, elsewhere):
    place = elsewhere.format(port=site.rpartition(":")[2])
    Site.moved["suites/s/"] = place
    with pytest.raises(ApiError, match=re.escape(f"The server redirects to {place}")):
        client.get("suites/s/")
    assert Site.tokens_seen == ["lmg_good"]


def test_a_circle_of_redirects_ends(client):
    Site.moved["suites/s/"] = "/api/v1/suites/s/"
    with pytest.raises(ApiError):
        client.get("suites/s/")
