"""The command `lmgym` on files: evaluate, score, lint, convert, compare and LM Challenge."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import lmgym
from lmgym.cli import main
from lmgym.models.backends.ngram_file import save_model
from lmgym.models.backends.ngram_model import train_ngram
from lmgym.runs.other_programs import blimp_jsonl
from tests.lmgym.suites.documents import suite_bytes, suite_json

SENTENCES = ["The woman plays all day.", "The boys run all day.", "My old friend sings all day."]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("my models (2)") / "tiny.ngram"
    save_model(train_ngram(SENTENCES * 5, order=2, min_count=1), path)
    return str(path)


@pytest.fixture(autouse=True)
def suite(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "agreement.json"
    path.write_bytes(suite_bytes())
    return path


def run(capsysbinary, *argv: str) -> tuple[int, str, str]:
    status = main(argv)
    out, err = capsysbinary.readouterr()
    return status, out.decode(), err.decode()


def test_evaluate_prints_a_table_of_pass_rates(capsysbinary, model) -> None:
    status, out, err = run(capsysbinary, "evaluate", "agreement.json", "-m", model)
    head, row = out.splitlines()
    assert (status, err) == (0, "")
    assert head.split() == ["suite", "model", "prediction", "passed", "rate", "95%", "chance"]
    assert row.split()[:2] == ["agreement", "tiny"]
    assert "3/3" in row


@pytest.mark.parametrize("rows", ["rates", "outcomes", "regions", "tokens"])
def test_tables_as_csv_and_json_equal_the_librarys_frames(capsysbinary, tmp_path, model, rows) -> None:
    frame = getattr(lmgym.evaluate("agreement.json", model), rows)()
    given = ("evaluate", "agreement.json", "--model", model, "--rows", rows, "--format")
    as_csv = pd.read_csv(
        io.StringIO(run(capsysbinary, *given, "csv")[1]), keep_default_na=False, na_values=[""]
    )
    as_json = json.loads(run(capsysbinary, *given, "json")[1])
    assert list(as_csv.columns) == list(frame.columns) == list(as_json[0])
    assert len(as_csv) == len(as_json) == len(frame)
    numbers = frame.select_dtypes("float64").columns
    for name in numbers:
        exact = [None if value != value else value for value in frame[name].tolist()]
        assert [row[name] for row in as_json] == exact
        assert as_csv[name].astype(float).tolist() == pytest.approx(
            frame[name].tolist(), nan_ok=True, abs=1e-12
        )


@pytest.mark.parametrize(
    ("rows", "what"), [("rates", "predictions"), ("regions", "regions"), ("suites", "suites")]
)
def test_tables_for_papers_equal_the_librarys(capsysbinary, model, rows, what) -> None:
    table = lmgym.evaluate("agreement.json", model).table(what)
    given = ("evaluate", "agreement.json", "-m", model, "--rows", rows, "--format")
    for form, text in (("latex", table.latex()), ("markdown", table.markdown())):
        assert run(capsysbinary, *given, form) == (0, text, "")


def test_rates_by_item_data_equal_the_librarys(capsysbinary, tmp_path, model) -> None:
    data = json.loads(suite_bytes())
    for item, name in zip(data["items"], ("motion", "motion", "sound"), strict=True):
        item["verb class"] = name
    (tmp_path / "classes.json").write_text(json.dumps(data))
    given = ("evaluate", "classes.json", "-m", model, "--by", "verb class")
    rows = json.loads(run(capsysbinary, *given, "--format", "json")[1])
    frame = lmgym.evaluate("classes.json", model).rates_by("verb class")
    assert [(row["group"], row["n"], row["passed"], row["low"]) for row in rows] == [
        (row["group"], row["n"], row["passed"], pytest.approx(row["low"])) for row in frame.to_dict("records")
    ]
    status, out, _ = run(capsysbinary, *given)
    assert status == 0
    assert [line.split()[2] for line in out.splitlines()[1:]] == ["Prediction", "Prediction"]
    assert "motion" in out
    assert run(capsysbinary, *given[:-1], "list")[0] == 2


def test_parquet_equals_the_librarys_frame(capsysbinary, model) -> None:
    pytest.importorskip("pyarrow")
    given = ("evaluate", "agreement.json", "--model", model, "--format", "parquet", "-o", "out.parquet")
    assert run(capsysbinary, *given) == (0, "", "")
    rates = lmgym.evaluate("agreement.json", model).rates()
    pd.testing.assert_frame_equal(pd.read_parquet("out.parquet"), rates, check_dtype=False)


def test_many_suites_on_many_models(capsysbinary, tmp_path, model) -> None:
    (tmp_path / "second.json").write_bytes(suite_bytes(name="second"))
    other = tmp_path / "other.ngram"
    save_model(train_ngram(SENTENCES, order=3, min_count=1), other)
    status, out, _ = run(capsysbinary, "evaluate", "*.json", "-m", model, "-m", str(other), "--format", "csv")
    rows = pd.read_csv(io.StringIO(out))
    assert status == 0
    assert list(zip(rows["model"], rows["suite"], strict=True)) == [
        ("tiny", "agreement"), ("tiny", "second"), ("other", "agreement"), ("other", "second"),
    ]  # fmt: skip


def test_policy_options_take_effect(capsysbinary, model) -> None:
    given = (
        "evaluate",
        "agreement.json",
        "-m",
        model,
        "--format",
        "json",
        "--eos",
        "--metric",
        "mean",
        "--bos",
        "never",
    )
    (row,) = json.loads(run(capsysbinary, *given)[1])
    assert (row["bos"], row["eos"], row["metric"]) == ("never", True, "mean")


@pytest.mark.parametrize(("least", "status"), [("0.9", 0), ("1", 0)])
def test_fail_under_exits_0_at_or_above_the_threshold(capsysbinary, model, least, status) -> None:
    assert run(capsysbinary, "evaluate", "agreement.json", "-m", model, "--fail-under", least)[0] == status


def test_fail_under_exits_1_below_the_threshold_and_without_predictions(
    capsysbinary, tmp_path, model
) -> None:
    (tmp_path / "wrong.json").write_bytes(suite_bytes(formulas=("(2;%match%) > (2;%mismatch%)",)))
    (tmp_path / "bare.json").write_bytes(suite_bytes(formulas=()))
    assert run(capsysbinary, "evaluate", "wrong.json", "-m", model, "--fail-under", "0.5")[0] == 1
    status, out, err = run(capsysbinary, "evaluate", "bare.json", "-m", model, "--fail-under", "0")
    assert (status, out) == (1, "The suites have no predictions.\n")
    assert "nothing was tested" in err


def test_score_reads_arguments_or_standard_input(capsysbinary, monkeypatch, model) -> None:
    argued = run(capsysbinary, "score", "-m", model, "The woman plays.", "The boys run.")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The woman plays.\n\nThe boys run.\n")))
    assert run(capsysbinary, "score", "-m", model) == argued
    rows = pd.read_csv(io.StringIO(argued[1]))
    assert rows.query("text_number == 2 and not special")["token"].tolist() == ["The", "boys", "run", "."]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run(capsysbinary, "score", "-m", model)[0] == 2


def test_lint_lists_findings_and_exits_1_on_errors(capsysbinary, tmp_path) -> None:
    status, out, _ = run(capsysbinary, "lint", "agreement.json")
    assert (status, out.splitlines()[0]) == (0, "agreement.json: 1 finding")
    document = suite_json()
    for region in document["items"][0]["conditions"][0]["regions"]:
        region["content"] = ""
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    status, out, _ = run(capsysbinary, "lint", "agreement.json", "wrong.json", "--format", "json")
    assert status == 1
    assert "empty-sentence" in {one["code"] for one in json.loads(out)["wrong.json"]["findings"]}


@pytest.fixture
def bad_files(tmp_path) -> list[str]:
    (tmp_path / "broken.json").write_text('{"items": []')
    (tmp_path / "empty.csv").write_text("")
    return ["broken.json", "none.json", "empty.csv"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_lint_checks_the_readable_files_and_names_all_others(capsysbinary, bad_files, form) -> None:
    status, out, err = run(capsysbinary, "lint", *bad_files, "agreement.json", "--format", form)
    assert (status, "agreement.json" in out) == (2, True)
    assert all(name in err for name in bad_files)
    assert not any(name in out for name in bad_files)


def test_evaluate_names_every_unreadable_file_before_a_model_is_loaded(capsysbinary, bad_files) -> None:
    status, out, err = run(capsysbinary, "evaluate", *bad_files, "agreement.json", "-m", "nowhere")
    assert (status, out) == (2, "")
    assert all(name in err for name in bad_files)
    assert "nowhere" not in err


def test_a_renaming_that_does_not_fit_names_the_file(capsysbinary) -> None:
    run(capsysbinary, "convert", "agreement.json", "-o", "out.csv")
    status, _, err = run(capsysbinary, "lint", "out.csv", "--conditions", "nothing=something")
    assert (status, "lmgym lint: out.csv: " in err) == (2, True)


@pytest.mark.parametrize("form", ["json", "json-trimmed", "json-early", "csv", "tsv", "csv-excel", "xlsx"])
def test_converted_suites_round_trip(capsysbinary, form) -> None:
    name = f"out.{'xlsx' if form == 'xlsx' else form.split('-')[0]}"
    assert run(capsysbinary, "convert", "agreement.json", "--to", form, "-o", name)[0] == 0
    found, wanted = lmgym.load_suite(name), lmgym.load_suite("agreement.json")
    assert [row.contents for row in found.sentences] == [row.contents for row in wanted.sentences]
    assert found.region_names == wanted.region_names


def test_convert_takes_the_format_from_the_extension(capsysbinary, tmp_path) -> None:
    run(capsysbinary, "convert", "agreement.json", "-o", "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("item_number")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["compare", "none", "none"], "lmgym evaluate SUITE -m MODEL --save none"),
        (["convert", "agreement.json", "--to", "lm-eval"], "--output"),
        (["convert", "conjunction.json", "--to", "blimp"], "is not a single comparison"),
        (["lmc", "run", "model:nowhere", "wp"], "No model found: there is no folder or file nowhere."),
        (["evaluate", "none.json", "-m", "MODEL"], "none.json: No such file"),
        (["evaluate", "no*.json", "-m", "MODEL"], "No file matches no*.json"),
        (["evaluate", "agreement.json", "-m", "nowhere"], "No model found: there is no folder or file nowhere."),
        (["evaluate", "agreement.json", "-m", "MODEL", "--rows", "tokens"], "needs --format"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--rows", "tokens", "-o", "t.tex"], "rates, regions, suites"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--rows", "suites"], "--format latex or markdown"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--format", "parquet"], "--output"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--whitespace", "trailing"], "n-gram"),
        (["evaluate", "broken.json", "-m", "MODEL"], "broken.json cannot be read as a suite"),
        (["evaluate", "agreement.json", "-m", "MODEL", "-o", "no/folder/out"], "no/folder/out"),
        (["evaluate", "agreement.json", "-m", "MODEL", "-o", "rates.doc"], "rates.doc: unknown extension"),
        (["evaluate", "agreement.json", "-m", "MODEL", "-m", "MODEL"], "is listed twice"),
        (["evaluate", "agreement.json", "-m", "./a/x", "-m", "./b/x.ngram"], "lmgym compare"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--bos", "NOWORD"], "NOWORD"),
        (["lint", "none.json"], "none.json: No such file"),
        (["convert", "none.json"], "none.json: No such file"),
        (["convert", "agreement.json", "--to", "xlsx"], "--output"),
        (["evalute"], "Did you mean evaluate?"),
    ],
)  # fmt: skip
def test_invalid_calls_print_one_message_and_exit_2(capsysbinary, tmp_path, model, argv, said) -> None:
    (tmp_path / "broken.json").write_text('{"items": []')
    both = "(2;%match%) < (2;%mismatch%) & (2;%match%) < 9"
    (tmp_path / "conjunction.json").write_bytes(suite_bytes(formulas=(both,)))
    status, out, err = run(capsysbinary, *(model if word == "MODEL" else word for word in argv))
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_minimal_pairs_are_written_in_the_sites_format(capsysbinary, tmp_path) -> None:
    (tmp_path / "pairs.json").write_bytes(suite_bytes(formulas=("(2;%match%) < (2;%mismatch%)",)))
    assert run(capsysbinary, "convert", "pairs.json", "-o", "pairs.jsonl")[0] == 0
    document = lmgym.load_suite("pairs.json")
    assert (tmp_path / "pairs.jsonl").read_text() == blimp_jsonl(document, "agreement", 1, "space")
    assert len(lmgym.load_suite("pairs.jsonl").sentences) == 6
    assert run(capsysbinary, "convert", "pairs.json", "-o", "pairs.zip", "--join", "natural")[0] == 0
    with zipfile.ZipFile(tmp_path / "pairs.zip") as archive:
        assert "gym_agreement/gym_agreement.yaml" in archive.namelist()
        assert "policy `natural`" in archive.read("gym_agreement/README.md").decode()


def test_compare_equals_the_librarys_comparison(capsysbinary, tmp_path, model) -> None:
    other = tmp_path / "other.ngram"
    save_model(train_ngram(SENTENCES[:1], order=1, min_count=1), other)
    both = ("-m", model, "-m", str(other))
    assert run(capsysbinary, "evaluate", "agreement.json", *both, "--save", "both")[0] == 0
    assert run(capsysbinary, "evaluate", "agreement.json", "-m", model, "--save", "one")[0] == 0
    status, _, err = run(capsysbinary, "compare", "one", "both")
    assert (status, "choose one with --second-model" in err) == (2, True)
    given = ("compare", "one", "both", "--second-model", "other")
    assert "other" not in run(capsysbinary, *given)[2]
    found = pd.read_csv(io.StringIO(run(capsysbinary, *given, "--format", "csv")[1]))
    found["note"] = found["note"].astype(object).fillna("")
    wanted = lmgym.evaluate("agreement.json", [model, str(other)]).compare("tiny", "other")
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False)
    head, row = run(capsysbinary, *given)[1].splitlines()
    assert head.split()[:4] == ["suite", "prediction", "first", "second"]
    assert "100.0%" in row


def test_a_suite_that_is_listed_twice_is_evaluated_once(capsysbinary, tmp_path, model) -> None:
    (tmp_path / "copy.json").write_bytes((tmp_path / "agreement.json").read_bytes())
    given = ("agreement.json", "copy.json", "agreement.json", "-m", model)
    status, out, err = run(capsysbinary, "evaluate", *given)
    assert (status, len(out.splitlines())) == (0, 2)
    assert err.splitlines() == [
        f"{path}: left out, the same suite as agreement.json" for path in ("copy.json", "agreement.json")
    ]
    twice = lmgym.evaluate(["agreement.json", "copy.json"], {"a": model, "b": model})
    assert len(twice.compare("a", "b")) == 1


def test_saved_results_are_replaced_only_by_a_finished_run(
    capsysbinary, tmp_path, monkeypatch, model
) -> None:
    given = ("evaluate", "agreement.json", "-m", model, "--save", "study")
    assert run(capsysbinary, *given)[2] == ""
    assert run(capsysbinary, *given)[2] == "study: earlier results are replaced\n"
    before = (tmp_path / "study" / "rates.csv").read_bytes()
    done = lmgym.evaluate("agreement.json", {"part": model})

    def stopped(*args: object, **more: object) -> None:
        raise lmgym.errors.Interrupted(done)

    monkeypatch.setattr("lmgym.evaluation.evaluate", stopped)
    for folder in ("study-interrupted", "study-interrupted1"):
        status, _, err = run(capsysbinary, *given)
        assert (status, f"completed runs saved in {folder}: 1" in err) == (130, True)
        assert "part" in (tmp_path / folder / "rates.csv").read_text()
    assert (tmp_path / "study" / "rates.csv").read_bytes() == before


@pytest.mark.parametrize("argv", [("", "-m", "{model}"), ("agreement.json", "-m", "")])
def test_an_empty_name_is_not_the_current_folder(capsysbinary, model, argv) -> None:
    given = [word.format(model=model) for word in argv]
    status, _, err = run(capsysbinary, "evaluate", *given)
    assert (status, "is empty." in err) == (2, True)


def test_lmc_run_accepts_a_model_path(capsysbinary, monkeypatch, tmp_path, model) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The woman plays.\n")))
    status, out, _ = run(capsysbinary, "lmc", "run", "--quiet", f"model:{model}", "wp")
    (line,) = out.splitlines()
    assert status == 0
    assert [one["target"] for one in json.loads(line)["wordPredictions"]][:2] == ["The", "woman"]


def test_output_extension_sets_the_format_unless_format_is_set(capsysbinary, tmp_path, model) -> None:
    assert run(capsysbinary, "evaluate", "agreement.json", "-m", model, "-o", "rates.json")[0] == 0
    assert json.loads((tmp_path / "rates.json").read_text())[0]["suite"] == "agreement"
    assert run(capsysbinary, "score", "The boys", "-m", model, "-o", "bits.json")[0] == 0
    assert json.loads((tmp_path / "bits.json").read_text())[0]["token"] == "<s>"
    given = ("evaluate", "agreement.json", "-m", model, "--format", "csv", "-o", "rates.md")
    assert run(capsysbinary, *given)[0] == 0
    assert (tmp_path / "rates.md").read_text().startswith("suite,")


def test_unknown_output_extension_is_refused(capsysbinary, tmp_path) -> None:
    status, _, err = run(capsysbinary, "convert", "agreement.json", "-o", "agreement.ods")
    assert status == 2
    assert "agreement.ods: unknown extension. Use .csv, .json, .jsonl, " in err
    assert not (tmp_path / "agreement.ods").exists()


def test_text_without_scored_tokens_is_reported(capsysbinary, model) -> None:
    status, _, err = run(capsysbinary, "score", "-m", model, "")
    assert (status, err) == (2, "text 1: no token has a value\n")


def test_standard_input_must_be_utf8(capsysbinary, monkeypatch, model) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"The woman \xff\xfe.\n")))
    status, out, err = run(capsysbinary, "score", "-m", model)
    assert (status, out) == (2, "")
    assert "Standard input is not UTF-8" in err


def test_save_does_not_overwrite_a_file(capsysbinary, model) -> None:
    status, _, err = run(capsysbinary, "evaluate", "agreement.json", "-m", model, "--save", "agreement.json")
    assert status == 2
    assert "agreement.json is a file. Choose a folder" in err


def test_people_names_predictions_that_ratings_of_sentences_cannot_evaluate(
    capsysbinary, tmp_path, model
) -> None:
    document = lmgym.load_suite("agreement.json")
    ratings = [
        f"{who},{one.item},{one.condition},{3 + place % 3}"
        for who in ("p1", "p2")
        for place, one in enumerate(document.sentences)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["participant,item,condition,rating", *ratings]))
    status, out, err = run(capsysbinary, "people", "against", "ratings.csv", "agreement.json", "-m", model)
    assert status == 0
    assert "cannot be evaluated with these data: it compares region" in err
    assert " of 0" not in out
