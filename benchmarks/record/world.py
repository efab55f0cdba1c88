"""The world of the record: the demo, and beside it what people make by HTTP. Each step's answer is recorded, too."""

from __future__ import annotations

import io
import re
import signal
from pathlib import Path
from typing import Any

from benchmarks.record import seeded
from benchmarks.record.people import PASSWORDS, ROLES, Answer, Person, encoded, quiet, write
from benchmarks.record.shapes import Scrubber

API = "/api/v1/"
NOUNS = ("king", "singer", "girl", "nurse", "judge", "robot")
VERBS = ("laughs", "laugh"), ("helps", "help"), ("sings", "sing")
PREDICTIONS = {
    "verb": "(2;%mismatch%) > (2;%match%)",
    "sentence": "(*;%mismatch%) > (*;%match%)",
    "both": "((2;%mismatch%) > (2;%match%)) & ((2;%mismatch%) - (2;%match%) > 1)",
}
DEMO_SUITES = ("agreement_pp",)
DEMO_MODELS = ("demo-ngram", "demo-gpt2")
CASES = {
    "manners/hello": """\
agent: echo
success_ratio: "2/3"
interactions: [{ text: "Hello there", response: { text: { keywords: "Hello", not_keywords: "Bye" } } }]
""",
    "manners/varies": """\
agent: echo
success_ratio: "3/4"
interactions: [{ text: "FLAKY greeting", response: { text: { keywords: "Hello" } } }]
""",
    "numbers": """\
agent: math_guy
interactions: [{ text: "times", sly_data: { x: 6, y: 7 }, response: { sly_data: { equals: { value: 42.0 } } } }]
""",
}
TEXTS = (
    "The king laughs .",
    "The girl that the king helps sings .",
    "No nurse has ever helped the judge .",
    "The singers help the robot .",
)


def suite(name: str, verb: str = "") -> dict[str, Any]:
    """Six items of two conditions, in the words of the demo grammar."""
    items = []
    for number, noun in enumerate(NOUNS, start=1):
        one, many = VERBS[number % 3]
        texts = {"match": one, "mismatch": verb or many}
        rows = [
            {
                "condition_name": condition,
                "regions": [
                    {"region_number": k, "content": text}
                    for k, text in enumerate((f"The {noun}", word, "the tall judge ."), start=1)
                ],
            }
            for condition, word in texts.items()
        ]
        items.append({"item_number": number, "conditions": rows})
    return {
        "meta": {"name": name, "metric": "sum", "author": "A. Writer", "reference": "Writer (2026)"},
        "region_meta": {"1": "Subject", "2": "Verb", "3": "Rest"},
        "predictions": [
            {"type": "formula", "name": title, "formula": formula} for title, formula in PREDICTIONS.items()
        ],
        "items": items,
    }


class World:
    """Everybody who asks, what was made, and the addresses of it."""

    def __init__(self, folder: Path, scrubber: Scrubber) -> None:
        self.folder = folder
        self.scrubber = scrubber
        self.people = {role: Person(role) for role in ROLES}
        self.places: list[str] = []
        self.others: set[str] = set()
        self.count = 0

    # --- asking ---

    def do(
        self,
        role: str,
        title: str,
        method: str,
        path: str,
        data: Any = None,
        *,
        waits: bool = False,
        **how: Any,
    ) -> Any:
        """One step: its answer is a file of the record. What JSON says, else the answer."""
        self.count += 1
        seeded.step(title, hours=self.count / 4)
        with quiet():
            answer = self.people[role].ask(method, path, **encoded(data, **how))
        answer.waits = waits
        self._keep(title, f"{role}: {method} {path}", answer)
        if answer.status >= 400:
            raise SystemExit(
                f"{title}: {method} {path} answered {answer.status}\n{answer.body.decode()[:3000]}"
            )
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        return answer.json() if is_json else answer

    def _keep(self, title: str, head: str, answer: Answer) -> None:
        scrub = self.scrubber.of_answer()
        name = f"{self.count:02} {title}.txt"
        write(self.folder / "steps" / name, [scrub(head), *answer.lines(scrub)])

    def api(self, role: str, title: str, method: str, path: str, data: Any = None, **how: Any) -> Any:
        return self.do(role, title, method, API + path, data, **how)

    def look(self, role: str, path: str) -> Any:
        """What an address of the API says, unrecorded."""
        answer = self.people[role].ask("GET", API + path)
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}: {answer.body.decode()[:500]}")
        return answer.json()

    def all_of(self, role: str, path: str) -> list[dict[str, Any]]:
        return list(self.look(role, f"{path}{'&' if '?' in path else '?'}limit=500")["results"])

    def name(self, key: str, label: str, *places: str) -> str:
        """A key by a name of ours in every answer. `places`: addresses with `*` for the key."""
        self.scrubber.names[str(key)] = label
        self.places += [place.replace("*", str(key)) for place in places]
        return str(key)

    def put(self, *places: str) -> None:
        self.places += places

    def work(self) -> None:
        """Run what is queued, here, one job after the other, until nothing is left that could be run."""
        from django.core.management import call_command

        self.count += 1
        seeded.step(f"work {self.count}", hours=self.count / 4)
        idle = 0
        while idle < 3:
            out = io.StringIO()
            with quiet():
                call_command("worker", "--once", stdout=out)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the worker's own was for its jobs
            if out.getvalue().startswith("0 "):
                idle += 1  # a job may wait for its second try
                seeded.later(minutes=1)
            else:
                idle = 0


def make(world: World) -> None:
    """Everything, in the order in which the rooms need each other."""
    _people(world)
    _demo(world)
    _models(world)
    _suites(world)
    _runs(world)
    _uploads(world)
    _collections(world)
    _propara(world)
    _games(world)
    _agents(world)


def _people(world: World) -> None:
    form = {"username": "charlie", "email": "charlie@example.org"}
    form |= {"password1": PASSWORDS["charlie"], "password2": PASSWORDS["charlie"]}
    world.do("stranger", "charlie signs up", "POST", "/accounts/sign-up/", form, form=True)
    for role, name in ROLES.items():
        if name:
            form = {"username": name, "password": PASSWORDS[name]}
            world.do(role, f"{name} signs in", "POST", "/accounts/login/", form, form=True)
    form = {"name": "script", "scopes": ["read", "run"], "days": "90"}
    made = world.do("owner", "alice makes a token", "POST", "/accounts/tokens/", form, form=True)
    found = re.search(rb"lmg_[\w-]+", made.body)
    if found is None:
        raise SystemExit("The page of tokens does not show the new one.")
    world.do(
        "nobody", "a token signs in", "GET", f"{API}me/", HTTP_AUTHORIZATION=f"Bearer {found[0].decode()}"
    )


def _demo(world: World) -> None:
    world.work()
    for run in world.all_of("owner", "runs/"):
        world.name(run["id"], f"run of {run['model']} on {run['suite']} r{run['revision']}")
        if run["model"] in DEMO_MODELS and run["suite"] in DEMO_SUITES:
            world.put(f"/runs/{run['id']}/", f"{API}runs/{run['id']}/")
        else:
            world.others.add(run["id"])
    for game in world.all_of("owner", "lmc/games/"):
        world.others.add(world.name(game["id"], f"demo game {game['game']}"))
    for submission in world.all_of("owner", "propara/submissions/"):
        places = ("/propara/submissions/*/", f"{API}propara/submissions/*/")
        world.name(submission["id"], f"demo submission {submission['system']}", *places)
    for run in world.all_of("owner", "agent-runs/"):
        world.name(run["id"], "demo agent run", "/agents/runs/*/", f"{API}agent-runs/*/")
    suites = {suite["slug"] for suite in world.all_of("owner", "suites/")}
    models = {model["slug"] for model in world.all_of("owner", "models/")}
    world.others |= (suites | models) - {*DEMO_SUITES, *DEMO_MODELS, "demo-agents"}
    for slug in DEMO_SUITES:
        world.put(f"/suites/{slug}/r1/", f"{API}suites/{slug}/revisions/1/")
    for slug in DEMO_MODELS:
        world.put(f"/models/{slug}/", f"{API}models/{slug}/")


def _models(world: World) -> None:
    body = {"slug": "alices-uniform", "name": "Alice's uniform", "backend": "uniform"}
    body |= {"config": {"vocabulary_size": 100, "unit": "word"}, "visibility": "private"}
    world.api("owner", "alice registers a model", "POST", "models/", body)
    world.put("/models/alices-uniform/", f"{API}models/alices-uniform/")
    world.work()
    _invite(world, "models/alices-uniform/", "view")
    changes = {"licence": "MIT", "corpus": "none", "tags": ["group:uniform"]}
    world.api("owner", "alice changes a model", "PATCH", "models/alices-uniform/", changes)
    wrong = {"slug": "nothing-there", "name": "Nothing", "backend": "ngram", "config": {"path": "nothing"}}
    world.api("owner", "alice registers a model without files", "POST", "models/", wrong)
    world.put(
        "/models/nothing-there/", *(f"{API}backends/{kind}/" for kind in ("uniform", "ngram", "causal"))
    )
    world.put("/accounts/password/reset/MQ/set-password/", "/admin/accounts/user/2/password/")
    world.work()


def _suites(world: World) -> None:
    for slug, visibility in (("recorded", "public"), ("hidden", "private")):
        body = {"document": suite(slug), "title": f"Suite {slug}", "visibility": visibility}
        made = world.api(
            "owner", f"alice makes suite {slug}", "POST", "suites/", body | {"tags": ["recorded"]}
        )
        if made["slug"] != slug:
            raise SystemExit(f"The suite {slug} has the address {made['slug']}.")
        world.put(f"/suites/{slug}/", f"{API}suites/{slug}/")
    _edit(world, "recorded", "first edits")
    world.api("owner", "alice freezes", "POST", "suites/recorded/freeze/", {"note": "first version"})
    world.api("owner", "alice freezes what is hidden", "POST", "suites/hidden/freeze/", {"note": "hidden"})
    world.api("owner", "alice opens a draft", "POST", "suites/recorded/draft/")
    _edit(world, "recorded", "second edits", more=True)
    world.api("owner", "alice freezes again", "POST", "suites/recorded/freeze/", {"note": "second version"})
    world.api("owner", "alice opens a third draft", "POST", "suites/recorded/draft/")
    _edit(world, "recorded", "third edits")
    world.api(
        "owner", "alice notes an erratum", "PATCH", "suites/recorded/revisions/1/", {"errata": "Item 2."}
    )
    aside = {"code": "few-items", "where": "suite", "reason": "a pilot"}
    world.api("owner", "alice puts a finding aside", "POST", "suites/recorded/lint/", aside)
    card = {"description": "For the record.", "language": "en", "licence": "CC0-1.0"}
    world.api("owner", "alice changes a card", "PATCH", "suites/recorded/", card)
    for slug in ("recorded", "hidden"):
        _invite(world, f"suites/{slug}/", "edit")
    compared = "?model=demo-ngram,demo-gpt2"
    for slug in ("recorded", *DEMO_SUITES):
        world.put(f"{API}compare/{slug}/{compared}", f"{API}compare/{slug}/items/{compared}")
    world.put(f"{API}compare/{compared}", f"{API}compare/{compared}&correction=bh&rule=all")
    world.put(
        f"{API}leaderboard/?rule=first",
        f"{API}leaderboard/?tag=recorded&format=csv",
        "/leaderboard/?rule=all",
    )
    world.put(
        "/suites/recorded/r1/", "/suites/recorded/r2/", "/suites/recorded/diff/1/2/", "/suites/hidden/r1/"
    )
    world.put(f"{API}suites/recorded/revisions/2/", f"{API}suites/recorded/diff/1/2/")
    text = "item_number,condition_name,region_number,region_name,content\n" + "".join(
        f"{item},{condition},{k},R{k},{content}\n"
        for item in (1, 2)
        for condition, verb in (("match", "laughs"), ("mismatch", "laugh"))
        for k, content in ((1, f"The {NOUNS[item]}"), (2, verb))
    )
    files = {"file": ("listed.csv", text.encode())}
    made = world.api(
        "owner", "alice imports a table", "POST", "suites/", {"visibility": "unlisted"}, files=files
    )
    world.name(made["slug"], "unlisted suite", "/suites/*/", f"{API}suites/*/")
    tail = made["slug"].rsplit("-", 1)[-1]
    world.scrubber.names[tail] = "secret"
    world.api(
        "owner", "alice freezes the unlisted suite", "POST", f"suites/{made['slug']}/freeze/", {"note": "u"}
    )
    copy = world.api(
        "stranger", "charlie copies a suite", "POST", "suites/recorded/copy/", {"title": "My copy"}
    )
    world.put(f"/suites/{copy['slug']}/", f"{API}suites/{copy['slug']}/")


def _edit(world: World, slug: str, title: str, *, more: bool = False) -> None:
    version = world.look("owner", f"suites/{slug}/draft/")["version"]
    word = title.split()[0]
    ops: list[dict[str, Any]] = []
    cells = world.look("owner", f"suites/{slug}/draft/cells/")["results"]
    row = next(row for row in cells if (row["item"], row["condition"]) == (1, "match"))
    ops.append({"op": "set_cells", "cells": [[1, "match", 3, row["contents"][2], f"the {word} judge ."]]})
    if more:
        rows = {"match": ["The teacher", "laughs", "."], "mismatch": ["The teacher", "laugh", "."]}
        ops += [
            {"op": "insert_items", "at": 6, "items": [{"number": 7, "rows": rows}]},
            {"op": "rename_region", "region": 3, "to": "End"},
        ]
    edits = [{"id": f"{word}-{k}", "ops": [op]} for k, op in enumerate(ops)]
    body = {"version": version, "edits": edits}
    world.api("owner", f"alice edits: {title}", "PATCH", f"suites/{slug}/draft/cells/", body)
    world.api("owner", f"alice sends again: {title}", "PATCH", f"suites/{slug}/draft/cells/", body)


def _invite(world: World, thing: str, role: str) -> None:
    body = {"username": "bob", "role": role}
    title = f"alice invites bob to {thing.replace('/', ' ').strip()}"
    world.api("owner", title, "POST", f"{thing}people/", body)
    offer = world.look("collaborator", "invitations/")["results"][0]["id"]
    world.api("collaborator", f"bob accepts: {title}", "POST", f"invitations/{offer}/accept/")
    world.put(f"{API}{thing}people/bob/")


def _runs(world: World) -> None:
    wishes = {
        "ngram": {"suite": "recorded", "model": "demo-ngram", "revision": 1},
        "gpt2": {"suite": "recorded", "model": "demo-gpt2", "revision": 2},
        "ngram r2": {"suite": "recorded", "model": "demo-ngram", "revision": 2},
        "trailing": {"suite": "recorded", "model": "demo-gpt2", "policy": {"whitespace": "trailing"}},
        "natural mean": {
            "suite": "recorded",
            "model": "demo-ngram",
            "policy": {"metric": "mean", "join": "natural", "bos": "never"},
        },
        "eos": {"suite": "recorded", "model": "demo-ngram", "policy": {"eos": True}},
        "private model": {"suite": "recorded", "model": "alices-uniform"},
        "hidden suite": {"suite": "hidden", "model": "demo-ngram"},
    }
    for title, wish in wishes.items():
        made = world.api("owner", f"alice runs {title}", "POST", "runs/", wish)
        world.name(made["id"], f"run {title}", "/runs/*/", f"{API}runs/*/")
    stopped = world.api(
        "owner", "alice runs and stops", "POST", "runs/", {"suite": "hidden", "model": "demo-gpt2"}
    )
    world.name(stopped["id"], "run stopped", "/runs/*/", f"{API}runs/*/")
    world.api("owner", "alice stops it", "POST", f"runs/{stopped['id']}/cancel/")
    world.work()
    key = next(key for key, label in world.scrubber.names.items() if label == "run gpt2")
    world.put(f"/runs/{key}/items/1/", f"/runs/{key}/items/2/")
    body = {"model": "demo-ngram", "sentences": list(TEXTS)}
    score = world.api("owner", "alice scores sentences", "POST", "score/", body, waits=True)
    world.name(score["id"], "score", f"{API}score/*/")
    preview = {"model": "demo-ngram", "items": [1, 2]}
    world.api("owner", "alice previews", "POST", "suites/recorded/preview/", preview, waits=True)
    world.work()
    formula = {
        "formula": PREDICTIONS["both"],
        "regions": ["Subject", "Verb"],
        "conditions": ["match", "mismatch"],
    }
    world.api("owner", "a formula in words", "POST", "formulas/explain/", formula)
    world.api("owner", "a formula parsed", "POST", "formulas/parse/", {"formula": PREDICTIONS["both"]})
    values = [
        {"condition": "match", "region": 2, "bits": [7.25, 9.5, None]},
        {"condition": "mismatch", "region": 2, "bits": [11.0, 9.5, 3.0]},
    ]
    body = {"formula": PREDICTIONS["verb"], "values": values}
    world.api("owner", "a formula evaluated", "POST", "formulas/evaluate/", body)
    jobs = world.all_of("owner", "jobs/")
    kinds = {job["kind"]: job["id"] for job in reversed(jobs)}
    for kind, key in sorted(kinds.items()):
        world.name(key, world.scrubber.names.get(key, f"job {kind}"), f"{API}jobs/*/")


def _uploads(world: World) -> None:
    outcomes = "model,suite,item,correct\n" + "".join(
        f"elsewhere,recorded,{item},{item % 3 != 0}\n" for item in range(1, 8)
    )
    regions = "suite,model_name,item_number,condition_name,region_number,surprisal_bits\n" + "".join(
        f"recorded,measured,{item},{condition},{region},{item * region + (condition == 'mismatch') * 1.5}\n"
        for item in range(1, 8)
        for condition in ("match", "mismatch")
        for region in (1, 2, 3)
    )
    for title, text, visibility in (("outcomes", outcomes, "public"), ("regions", regions, "private")):
        files = {"file": (f"{title}.csv", text.encode())}
        world.api("owner", f"alice plans {title}", "POST", "uploads/plan/", {}, files=files)
        data = {"visibility": visibility, "name": f"Uploaded {title}"}
        made = world.api("owner", f"alice uploads {title}", "POST", "uploads/", data, files=files)
        world.name(made["id"], f"upload {title}", "/uploads/*/", f"{API}uploads/*/")
    for run in world.all_of("owner", "runs/?source=uploaded"):
        world.name(run["id"], f"uploaded run of {run['model']}", "/runs/*/", f"{API}runs/*/")
    for model in world.all_of("owner", "models/?backend=uploaded"):
        world.put(f"/models/{model['slug']}/", f"{API}models/{model['slug']}/")


def _collections(world: World) -> None:
    suites = [{"suite": "recorded", "revision": 2}, {"suite": "agreement_pp"}]
    for slug, members in (("paper", suites), ("in-the-making", [*suites, {"suite": "hidden"}])):
        body = {
            "slug": slug,
            "title": f"Collection {slug}",
            "suites": members,
            "description": "For the record.",
        }
        world.api("owner", f"alice collects {slug}", "POST", "collections/", body)
        world.put(f"/collections/{slug}/", f"{API}collections/{slug}/")
    world.put(f"{API}collections/paper/suites/recorded/2/")
    world.api("owner", "alice publishes", "POST", "collections/paper/publish/")
    _invite(world, "collections/in-the-making/", "edit")


def _propara(world: World) -> None:
    files = {}
    for name in ("answers", "sentences"):
        page = world.people["owner"].ask("GET", f"/propara/everyday-processes/v1/download/{name}.tsv/")
        if page.status != 200:
            raise SystemExit(f"No {name} of the demo answer set: {page.status} {page.body[:500]!r}")
        files[name] = (f"{name}.tsv", page.body)
    data = {"title": "Recorded processes", "visibility": "private"}
    made = world.api("owner", "alice makes an answer set", "POST", "propara/answer-sets/", data, files=files)
    slug = made["slug"]
    world.put(f"/propara/{slug}/", f"{API}propara/answer-sets/{slug}/")
    _invite(world, f"propara/answer-sets/{slug}/", "edit")
    world.put(
        f"{API}propara/answer-sets/{slug}/versions/1/",
        f"{API}propara/answer-sets/{slug}/versions/1/files/json/",
    )
    again = {"note": "the same again"}
    path = f"propara/answer-sets/{slug}/versions/"
    world.api("owner", "alice makes a version", "POST", path, again, files=files)
    rows = files["answers"][1].decode().splitlines()
    predictions = {
        "lazy": [row if k % 3 else _unmoved(row) for k, row in enumerate(rows)],
        "wrong places": [row.replace("kettle", "cup") for row in rows],
    }
    targets = {"lazy": ("everyday-processes", "public"), "wrong places": (slug, "private")}
    for system, (target, visibility) in targets.items():
        sent = {"file": (f"{system}.tsv", "".join(f"{line}\n" for line in predictions[system]).encode())}
        data = {"answer_set": target, "system": f"{system} on {target}", "visibility": visibility}
        made = world.api("owner", f"alice submits {system}", "POST", "propara/submissions/", data, files=sent)
        places = (
            "/propara/submissions/*/",
            f"{API}propara/submissions/*/",
            f"{API}propara/submissions/*/processes/1/",
        )
        world.name(made["id"], f"submission {system}", *places)
        asked = {"file": sent["file"], "answers": files["answers"], "sentences": files["sentences"]}
        world.api("owner", f"alice evaluates {system}", "POST", "propara/evaluate/", {}, files=asked)
    body = {"answer_set": slug, "model": "demo-ngram"}
    made = world.api("owner", "a model answers", "POST", "propara/generate/", body)
    world.name(made["id"], "submission generated", "/propara/submissions/*/", f"{API}propara/submissions/*/")
    world.work()
    pair = ("submission lazy", "demo submission Hasty")
    first, second = (
        next(key for key, label in world.scrubber.names.items() if label == name) for name in pair
    )
    world.put(f"/propara/compare/{first}/{second}/", f"{API}propara/compare/?first={first}&second={second}")


def _unmoved(row: str) -> str:
    words = row.split("\t")
    return "\t".join([*words[:3], "NONE", words[4], words[4]])


def _games(world: World) -> None:
    lines = "".join(f"{text}\n" for text in TEXTS)
    files = {"file": ("texts.txt", lines.encode())}
    world.api("owner", "alice checks a corpus", "POST", "lmc/check/", {}, files=files)
    data = {"title": "Recorded texts", "visibility": "private", "format": "text"}
    made = world.api("owner", "alice uploads a corpus", "POST", "lmc/corpora/", data, files=files)
    slug = made["slug"]
    world.put(f"/games/corpora/{slug}/", f"{API}lmc/corpora/{slug}/")
    _invite(world, f"lmc/corpora/{slug}/", "edit")
    keys = {}
    for game, player in (
        ("wp", "demo-ngram"),
        ("tc", "demo-ngram"),
        ("ic", "demo-ngram"),
        ("wp", "demo-gpt2"),
    ):
        title = f"{game} {player}"
        body = {"corpus": slug, "game": game, "player": f"model:{player}", "title": title}
        if game == "wp":
            body["predictions"] = True
        made = world.api("owner", f"alice plays {title}", "POST", "lmc/games/", body)
        keys[title] = world.name(made["id"], f"game {title}", "/games/*/", f"{API}lmc/games/*/")
    world.work()
    for key in keys.values():
        world.put(f"{API}lmc/games/{key}/statistics/?partition=line&filter=alpha")
    page = world.people["owner"].ask("GET", f"{API}lmc/games/{keys['wp demo-ngram']}/files/targets.log/")
    if page.status != 200:
        raise SystemExit(f"no log: {page.status} {page.body[:300]!r}")
    files = {"log": ("wp.log", page.body)}
    data = {"title": "Our log", "corpus": slug, "visibility": "public"}
    made = world.api("owner", "alice uploads a log", "POST", "lmc/logs/", data, files=files)
    world.name(made["id"], "game uploaded", "/games/*/", f"{API}lmc/games/*/")
    pair = ",".join((keys["wp demo-ngram"], keys["wp demo-gpt2"]))
    world.put(f"{API}lmc/compare/?games={pair}")
    world.put(f"{API}lmc/corpora/{slug}/files/corpus.jsonl/")
    world.put(f"/games/compare/?game={keys['wp demo-ngram']}&game={keys['wp demo-gpt2']}")
    body = {"model": "demo-ngram", "text": "The king "}
    guess = world.api("owner", "alice asks what follows", "POST", "lmc/guesses/", body, waits=True)
    world.put(f"{API}lmc/guesses/{guess['id']}/")
    world.work()


def _agents(world: World) -> None:
    body = {"kind": "embedded", "name": "Alice's agents", "visibility": "private"}
    slug = world.api("owner", "alice registers agents", "POST", "agents/", body)["id"]
    world.put(f"/agents/servers/{slug}/", f"{API}agents/{slug}/")
    world.work()
    body = {"title": "Recorded manners", "visibility": "private", "description": "For the record."}
    tests = world.api("owner", "alice makes agent tests", "POST", "agent-suites/", body)["id"]
    world.put(f"/agents/{tests}/", f"{API}agent-suites/{tests}/")
    world.api("owner", "alice imports cases", "POST", f"agent-suites/{tests}/cases/", {"cases": CASES})
    for case in world.all_of("owner", f"agent-suites/{tests}/cases/"):
        world.put(f"/agents/{tests}/cases/{case['id']}/", f"{API}agent-suites/{tests}/cases/{case['id']}/")
    world.api(
        "owner", "alice checks a case", "POST", f"agent-suites/{tests}/check/", {"text": CASES["numbers"]}
    )
    _invite(world, f"agent-suites/{tests}/", "edit")
    keys = []
    for count, agent in enumerate((slug, "demo-agents"), start=1):
        made = world.api(
            "owner",
            f"alice runs agents {count}",
            "POST",
            "agent-runs/",
            {"suite": tests, "agent": agent, "parallel": 1},
        )
        keys.append(world.name(made["id"], f"agent run {count}", "/agents/runs/*/", f"{API}agent-runs/*/"))
        world.work()
    world.put(f"/agents/compare/?a={keys[0]}&b={keys[1]}")
    world.put(f"{API}agent-compare/?first={keys[0]}&second={keys[1]}")
    for key in keys:
        for case in world.look("owner", f"agent-runs/{key}/")["cases"]:
            world.put(f"/agents/runs/{key}/{case['id']}/", f"{API}agent-runs/{key}/cases/{case['id']}/")
    failed = next(
        case for case in world.look("owner", f"agent-runs/{keys[0]}/")["cases"] if "varies" in case["name"]
    )
    body = {"case": failed["name"], "agent": slug, "name": "namer"}
    world.api("owner", "a model names failures", "POST", f"agent-runs/{keys[0]}/namings/", body)
    world.work()
