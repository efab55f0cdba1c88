"""`lmgym.evaluate`, `score` and `load_suite`, and the frames they return."""

from __future__ import annotations

import copy
import gzip
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lmgym
from lmgym.errors import BackendError, FormatError, Interrupted, InvalidArgument
from lmgym.models.backends import load_backend
from lmgym.models.backends.uniform import UniformBackend
from lmgym.models.engine import TokenScores
from lmgym.models.given import open_model
from lmgym.runs import tables
from lmgym.suites.formats import MAX_BYTES, read_suite, write_json, write_long_csv
from lmgym.text.columns import columns
from tests.lmgym.conftest import ROOT
from tests.lmgym.models import tiny
from tests.lmgym.models.conftest import tiny_models  # noqa: F401  a fixture
from tests.lmgym.suites.documents import suite_bytes, suite_json


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "agreement.json"
    path.write_bytes(suite_bytes())
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other.json"
    path.write_bytes(
        suite_bytes(name="other", items=2, formulas=("(1;%match%) = (1;%mismatch%)", "(*;%match%) > 0"))
    )
    return path


class Words:
    """Model whose bits are proportional to the length of words."""

    def __init__(self, bits_a_letter: float = 1.0) -> None:
        self.bits = bits_a_letter
        self.calls: list[list[str]] = []

    def score(self, texts: list[str]) -> list[list[tuple[str, float | None]]]:
        self.calls.append(list(texts))
        return [[(word, len(word) * self.bits) for word in text.split()] for text in texts]


def test_importing_the_library_loads_no_big_package() -> None:
    code = (
        "import sys, lmgym; big = {'torch', 'transformers', 'django', 'pandas', 'scipy', 'numpy'};"
        "print(sorted(big & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_promised_name_is_there() -> None:
    assert all(getattr(lmgym, name) is not None for name in lmgym.__all__)
    assert set(lmgym.__all__) <= set(dir(lmgym))


@pytest.mark.parametrize("as_what", ["path", "pattern", "list", "dict", "document"])
def test_suites_are_given_in_any_form(suite: Path, as_what: str) -> None:
    given = {
        "path": suite,
        "pattern": str(suite.parent / "*.json"),
        "list": [str(suite)],
        "dict": suite_json(),
        "document": read_suite(suite.read_bytes()),
    }[as_what]
    rates = lmgym.evaluate(given, Words()).rates()
    assert rates["suite"].tolist() == ["agreement"]
    assert rates.loc[0, ["n", "passed", "rate"]].tolist() == [
        3,
        1,
        1 / 3,
    ]  # plays > play; runs > run fails


def test_lint_takes_what_load_suite_takes(suite: Path) -> None:
    findings = lmgym.lint(lmgym.load_suite(suite))
    assert findings
    assert lmgym.lint(str(suite)) == lmgym.lint(suite) == lmgym.lint(suite_json()) == findings
    with pytest.raises(InvalidArgument, match="list is not a suite"):
        lmgym.lint([suite])
    with pytest.raises(InvalidArgument, match="Choose space, natural, none"):
        lmgym.lint(suite, "spaces")


def test_a_data_frame_is_read_as_its_csv_would_be(suite: Path, tmp_path: Path) -> None:
    document = read_suite(suite.read_bytes())
    path = tmp_path / "long.csv"
    path.write_text(write_long_csv(document), encoding="utf-8")
    frame = pd.read_csv(path, keep_default_na=False)
    found = lmgym.load_suite(frame, "agreement")
    assert [row.contents for row in found.sentences] == [row.contents for row in document.sentences]


def test_frames_have_the_columns_of_the_sites_tables(suite: Path, other: Path) -> None:
    result = lmgym.evaluate([suite, other], {"one": Words(), "two": Words(2.0)})
    context = [name for name, _ in columns(tables.RunFacts)]
    for frame, kinds in (
        (result.rates(), columns(*tables.RATES)),
        (result.outcomes(), columns(tables.Outcome)),
        (result.regions(), columns(tables.Region)),
        (result.tokens(), columns(tables.Token)),
    ):
        assert list(frame.columns) == context + [name for name, _ in kinds]
    assert list(dict.fromkeys(zip(result.rates()["model"], result.rates()["suite"], strict=True))) == [
        ("one", "agreement"), ("one", "other"), ("two", "agreement"), ("two", "other"),
    ]  # fmt: skip
    regions = result.regions().query("model == 'two' and suite == 'agreement'")
    assert regions.iloc[1][["region", "content", "surprisal"]].tolist() == ["Verb", "plays", 10.0]


@pytest.mark.parametrize("eos", [True, False])
def test_the_end_token_is_true_or_false_in_rates_as_in_the_policy(
    suite: Path,
    tiny_models: Path,  # noqa: F811
    eos: bool,
) -> None:
    result = lmgym.evaluate(suite, tiny_models / "byte-bpe", policy={"eos": eos})
    assert result.rates()["eos"].tolist() == [result.runs[0].policy.eos] == [eos]


def test_what_has_no_value_is_missing_and_never_zero(suite: Path) -> None:
    class Half:
        def score(self, texts: list[str]) -> list[list[tuple[str, float | None]]]:
            return [
                [(word, None if k == 1 else 1.0) for k, word in enumerate(text.split())] for text in texts
            ]

    result = lmgym.evaluate(suite, Half())
    verbs = result.regions().query("region_number == 2")["surprisal"]
    subjects = result.tokens().query("token_number == 2")["surprisal"]
    assert subjects.isna().all()
    assert not (result.regions()["surprisal"] == 0).any()
    assert verbs.notna().all()
    assert result.rates()["not_evaluable"].tolist() == [0]


def test_a_sentence_that_cannot_be_scored_leaves_the_others(suite: Path) -> None:
    class Forgetful(Words):
        def score(self, texts: list[str]) -> list[list[tuple[str, float | None]]]:
            return [
                [("nothing", 1.0)] if "boys" in text else row
                for text, row in zip(texts, super().score(texts), strict=True)
            ]

    result = lmgym.evaluate(suite, Forgetful())
    assert result.outcomes()["outcome"].tolist() == ["failed", "not evaluable", "failed"]
    assert "boys" not in result.tokens()["token"].tolist()


def test_numbers_are_those_of_the_engine(suite: Path, tiny_models: Path) -> None:  # noqa: F811
    folder = tiny_models / "byte-bpe"
    tokens = lmgym.evaluate(suite, folder).tokens()
    config = {"source": "directory", "path": "byte-bpe", "device": "cpu"}
    backend = load_backend("causal", config, model_dir=tiny_models, hub_allowed=False)
    backend.choose_start_token()  # type: ignore[attr-defined]
    texts = [row.text for row in read_suite(suite.read_bytes()).sentences]
    wanted = [bits for row in backend.score(texts, lmgym.ScoringPolicy()) for bits in row.bits]  # type: ignore[union-attr]
    assert tokens["surprisal"].tolist() == pytest.approx(
        [math.nan if b is None else b for b in wanted], nan_ok=True
    )
    assert tokens["special"].sum() == 6


def test_a_model_in_memory_gives_the_numbers_of_its_folder(suite: Path, tiny_models: Path) -> None:  # noqa: F811
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = tiny_models / "byte-bpe"
    pair = (AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))
    result = lmgym.evaluate(suite, {"memory": pair, "folder": folder})
    bits = [frame["surprisal"].to_numpy() for _, frame in result.tokens().groupby("model", sort=False)]
    assert np.allclose(*bits, atol=1e-4, equal_nan=True)
    assert result.runs[0].provenance["model_fingerprint"] != ""
    assert pair[0].training is False


def test_each_model_is_loaded_once(suite: Path, other: Path, tiny_models: Path, monkeypatch) -> None:  # noqa: F811
    loaded: list[object] = []
    monkeypatch.setattr(
        "lmgym.evaluation.open_model", lambda model, **more: loaded.append(model) or open_model(model, **more)
    )
    lmgym.evaluate([suite, other], [tiny_models / "byte-bpe", Words()])
    assert len(loaded) == 2


def test_masked_models_are_scored_as_such(suite: Path, tmp_path: Path) -> None:
    tokenizer = tiny.framed(tiny.train("wordpiece"))
    folder = tiny.save(tmp_path / "gaps", tiny.gap_filler("bert", len(tokenizer)), tokenizer)
    rates = lmgym.evaluate(suite, folder).rates()
    assert rates["score_kind"].tolist() == ["pseudo-log-likelihood within_word_l2r"]


def test_an_ngram_file_is_a_model(suite: Path, tmp_path: Path) -> None:
    from lmgym.models.backends.ngram_file import save_model
    from lmgym.models.backends.ngram_model import train_ngram

    path = tmp_path / "tiny.ngram"
    save_model(train_ngram(["The woman plays all day.", "The boys run all day."] * 5, order=2), path)
    assert lmgym.evaluate(suite, path).rates()["model"].tolist() == ["tiny"]


def test_token_scores_of_ones_own_are_taken_as_they_are() -> None:
    class Own:
        name = "own"

        def score(self, texts: list[str]) -> list[TokenScores]:
            return [
                TokenScores(["The", "cat"], [1, 2], [(0, 3), (4, 7)], [None, 3.0], [False, False])
                for _ in texts
            ]

    frame = lmgym.score("The cat", Own())
    assert frame["surprisal"].tolist() == pytest.approx([math.nan, 3.0], nan_ok=True)


def test_score_gives_tokens_with_their_characters() -> None:
    frame = lmgym.score(["The keys are here.", "No"], UniformBackend(1024))
    assert frame["token"].tolist() == ["The", "keys", "are", "here", ".", "No"]
    assert frame["surprisal"].tolist() == [10.0] * 6
    assert frame.loc[1, ["text_number", "token_number", "start", "end"]].tolist() == [
        1,
        2,
        4,
        8,
    ]


def test_models_are_compared_item_by_item(suite: Path) -> None:
    class Reverse(Words):
        def score(self, texts: list[str]) -> list[list[tuple[str, float | None]]]:
            return [[(word, 20.0 - bits) for word, bits in row] for row in super().score(texts)]  # type: ignore[operator]

    result = lmgym.evaluate(suite, {"long": Words(), "short": Reverse()})
    (row,) = result.compare("long", "short").to_dict("records")
    assert (row["n"], row["only_first"], row["only_second"]) == (3, 1, 2)
    assert (row["first_value"], row["second_value"]) == (1 / 3, 2 / 3)
    assert row["difference"] == pytest.approx(1 / 3)
    assert row["low"] < row["difference"] < row["high"]
    assert row["p"] == row["p_corrected"] == 1.0
    with pytest.raises(InvalidArgument, match="Models: long, short"):
        result.compare("long", "tall")


def test_a_chart_of_a_run_is_an_svg(suite: Path, other: Path, tmp_path: Path) -> None:
    result = lmgym.evaluate([suite, other], Words())
    with pytest.raises(InvalidArgument, match="2 runs match"):
        result.plot("regions")
    path = result.plot("regions", suite="agreement").save(tmp_path / "regions.svg")
    assert path.read_text().startswith("<svg")


def test_a_chart_of_pass_rates_draws_the_rows_of_the_table(suite: Path, other: Path) -> None:
    result = lmgym.evaluate([suite, other], {"long": Words(), "short": Words(2.0)})
    chart, rates = result.plot("rates"), result.rates()
    assert list(chart.columns()) == list(rates.columns)
    assert [row[list(chart.columns()).index("rate")] for row in chart.rows] == rates["rate"].tolist()
    for row in rates.to_dict("records"):
        limits = f"{row['rate']:.3f} pass rate ({row['low']:.3f} to {row['high']:.3f})"
        assert f"{row['suite']}: {row['prediction']}: {limits}" in str(chart)
        assert f"; {row['model']}: {row['passed']} of {row['n']} held" in str(chart)
    alone = result.plot("rates", suite="agreement", model="long")
    assert (alone.title, len(alone.rows)) == ("long on agreement: pass rates", 1)
    for wrong in ({"what": "tokens"}, {"what": "rates", "suite": "none"}):
        with pytest.raises(InvalidArgument, match=r"'regions', 'rates'|No run matches"):
            result.plot(**wrong)


def test_results_are_saved_as_tables_and_provenance(suite: Path, tmp_path: Path) -> None:
    result = lmgym.evaluate(suite, Words())
    folder = result.save(tmp_path / "new" / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "methods.md", "methods.tex", "outcomes.csv", "provenance.json", "rates.csv", "references.bib", "regions.csv",
        "runs.jsonl.gz", "tokens.csv",
    ]  # fmt: skip
    assert pd.read_csv(folder / "rates.csv")["rate"].tolist() == result.rates()["rate"].tolist()
    (facts,) = json.loads((folder / "provenance.json").read_text())
    assert facts["policy"]["metric"] == "sum"


@pytest.mark.parametrize("policy", [{"whitespace": "trailing"}, {"metric": "mean"}, {"tokens": "needed"}])
def test_saved_results_are_loaded_as_they_were(
    suite: Path,
    other: Path,
    tmp_path: Path,
    tiny_models: Path,  # noqa: F811
    policy: dict,
) -> None:
    wide = (
        "item,condition,A,B\n2,a,The owl,hoots.\n1,a,The cat,sleeps.\n1,b,The cat,sleep.\n2,b,The owl,hoot.\n"
    )
    (tmp_path / "t.csv").write_text(wide)
    suites = [suite, other, lmgym.load_suite(tmp_path / "t.csv", prediction="a")]
    result = lmgym.evaluate(suites, tiny_models / "byte-bpe", policy=policy)
    again = lmgym.Result.load(result.save(tmp_path / "out"))
    assert again == result
    for table in ("rates", "outcomes", "regions", "tokens"):
        pd.testing.assert_frame_equal(getattr(again, table)(), getattr(result, table)())
    again.save(tmp_path / "copy")
    for path in (tmp_path / "out").iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_saved_suite_is_read_back_even_if_its_json_is_too_large_to_upload(tmp_path: Path) -> None:
    regions = "\t".join(["word"] * 40)
    rows = [f"{item}\t{condition}\t{regions}" for item in range(1, 701) for condition in "ab"]
    path = tmp_path / "large.tsv"
    path.write_text("\n".join(["item\tcondition\t" + "\t".join(f"r{k}" for k in range(40)), *rows]))
    result = lmgym.evaluate(path, Words())
    assert len(write_json(result.runs[0].suite)) > MAX_BYTES
    assert lmgym.Result.load(result.save(tmp_path / "out")) == result


def test_a_result_without_runs_is_loaded_as_such(tmp_path: Path) -> None:
    assert lmgym.Result.load(lmgym.Result(()).save(tmp_path / "out")).runs == ()


@pytest.mark.parametrize("content", [b"no gzip", b"{}", b"[]", b"half"])
def test_a_folder_that_cannot_be_loaded_says_what_to_do(suite: Path, tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InvalidArgument, match=r"nothing.runs\.jsonl\.gz does not exist. .*--save"):
        lmgym.Result.load(tmp_path / "nothing")
    path = lmgym.evaluate(suite, Words()).save(tmp_path / "out") / "runs.jsonl.gz"
    whole = path.read_bytes()
    path.write_bytes(
        {b"half": whole[: len(whole) // 2], b"no gzip": content}.get(content, gzip.compress(content))
    )
    with pytest.raises(InvalidArgument, match=r"out.runs\.jsonl\.gz is damaged"):
        lmgym.Result.load(tmp_path / "out")


def test_tables_for_papers_have_the_numbers_of_the_frames(suite: Path, other: Path) -> None:
    result = lmgym.evaluate([suite, other], {"one": Words(), "two": Words(2.0)})
    rates = result.rates()
    table = result.table()
    assert table.columns == ("Suite", "Prediction", "n", "one", "two", "Chance")
    for k, model in ((3, "one"), (4, "two")):
        cells = rates[rates["model"] == model]
        assert [row[k].value for row in table.rows] == [f"{100 * rate:.1f}" for rate in cells["rate"]]
        assert [row[k].low for row in table.rows] == [f"{100 * low:.1f}" for low in cells["low"]]
    regions = result.regions()
    verbs = regions[(regions["suite"] == "agreement") & (regions["region"] == "Verb")]
    means = verbs.groupby(["model", "condition"])["surprisal"].mean()
    table = result.table("regions", suite="agreement")
    verb = table.columns.index("2 Verb")
    for row in table.rows:
        assert row[verb].value == f"{means[row[0], row[1]]:.2f}"
    assert [row[0] for row in result.table("suites", rule="all").rows] == ["agreement", "other"]


def test_a_table_that_cannot_be_is_refused(suite: Path, other: Path) -> None:
    result = lmgym.evaluate([suite, other], Words())
    for call, words in (
        (lambda: result.table("tokens"), "'predictions', 'suites', 'regions'"),
        (lambda: result.table("regions"), "Specify one suite"),
        (lambda: result.table(suite="none"), "No run of the suite 'none'"),
        (lambda: result.methods(rule="most"), "'each', 'all', 'first'"),
    ):
        with pytest.raises(InvalidArgument, match=words):
            call()


def test_an_interrupt_leaves_what_is_done(suite: Path, other: Path) -> None:
    class Stopping(Words):
        def score(self, texts: list[str]) -> list[list[tuple[str, float | None]]]:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="completed runs \\(2\\)") as caught:
        lmgym.evaluate([suite, other], {"done": Words(), "stopped": Stopping()})
    assert caught.value.result.rates()["model"].unique().tolist() == ["done"]


def test_an_error_of_a_suite_comes_back_from_another_process(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"a":')
    with pytest.raises(FormatError) as caught:
        lmgym.load_suite(tmp_path / "broken.json")
    again = copy.copy(caught.value)  # as pickle does
    assert (type(again), str(again), again.result.problems) == (
        type(caught.value), str(caught.value), caught.value.result.problems,
    )  # fmt: skip


def test_progress_is_shown_on_request_and_never_in_a_pipe(suite: Path, capsys) -> None:
    lmgym.evaluate(suite, Words())
    assert capsys.readouterr().err == ""
    lmgym.evaluate(suite, Words(), progress=True)
    assert "agreement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("suites", "models", "error", "said"),
    [
        ("nothing/*.json", Words(), InvalidArgument, "No suite found"),
        ({"items": 1}, Words(), FormatError, "items"),
        (7, Words(), InvalidArgument, "int is not a suite"),
        ("SUITE", "no/such/folder", BackendError, "No model found at no/such/folder"),
        ("SUITE", object(), BackendError, "object is not a model"),
        ("SUITE", [Words(), Words()], InvalidArgument, "Two models are called 'Words'"),
    ],
)
def test_what_cannot_be_done_is_named(suite: Path, suites, models, error, said) -> None:
    with pytest.raises(error, match=said):
        lmgym.evaluate(suite if suites == "SUITE" else suites, models)


@pytest.mark.parametrize(
    "policy", [{"metric": "mode"}, {"bos": "always"}, {"unknown": 1}, {"whitespace": "trailing"}]
)
def test_a_policy_that_cannot_be_followed_is_refused(suite: Path, policy: dict) -> None:
    with pytest.raises((InvalidArgument, BackendError)):
        lmgym.evaluate(suite, Words(), policy=policy)


def test_load_suite_renames_and_leaves_out_conditions_and_regions():
    frame = pd.DataFrame(
        {
            "item": [1, 1, 1],
            "condition": ["good", "bad", "odd"],
            "Subject": ["The owl", "The owl", "It"],
            "Verb": ["hoots", "hoot", "rains"],
            "Rest": ["now", "now", "now"],
        }
    )
    conditions, regions = {"good": "match", "odd": ""}, {"Verb": "V", "Rest": ""}
    document = lmgym.load_suite(frame, conditions=conditions, regions=regions)
    assert document.conditions == ("match", "bad")
    assert document.region_names == ("Subject", "V")
    with pytest.raises(InvalidArgument, match="conditions: 'goood' is not in the table"):
        lmgym.load_suite(frame, conditions={"goood": "bad"})
    with pytest.raises(InvalidArgument, match="regions: 'Vrb' is not in the table"):
        lmgym.load_suite(frame, regions={"Vrb": ""})
    with pytest.raises(FormatError, match="2 regions are called “Verb”"):
        lmgym.load_suite(frame, conditions={"odd": ""}, regions={"Rest": "Verb"})


def test_load_suite_takes_the_answers_to_what_a_sheet_leaves_open(tmp_path):
    path = tmp_path / "owls.csv"
    path.write_text("Owls\nnr,one,other\n3,The owl/hoots.,The owl/hoot.\n")
    with pytest.raises(lmgym.errors.NotUnderstood):
        lmgym.load_suite(path)
    columns = {"A": "item", "B": "condition_text", "C": "condition_text"}
    document = lmgym.load_suite(path, columns=columns, header=2, prediction="one", cut="/")
    assert document.predictions[0].formula == "(*;%one%) < (*;%other%)"
    assert document.sentences[1].contents == ("The owl", "hoot.")
    with pytest.raises(InvalidArgument, match="cut='x' is unknown"):
        lmgym.load_suite(path, cut="x")
