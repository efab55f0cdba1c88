"""The command `lmgym`: evaluate, score, lint, convert, and the way to the neighbours' commands."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import lmgym
from lmgym.cli import COMMANDS, main
from lmgym.models.backends.ngram_file import save_model
from lmgym.models.backends.ngram_model import train_ngram
from tests.lmgym.conftest import CONFORMANCE, ROOT
from tests.lmgym.suites.documents import suite_bytes, suite_json

SENTENCES = ["The woman plays all day.", "The boys run all day.", "My old friend sings all day."]


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("models") / "tiny.ngram"
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


def test_a_table_of_pass_rates(capsysbinary, model) -> None:
    status, out, err = run(capsysbinary, "evaluate", "agreement.json", "-m", model)
    head, row = out.splitlines()
    assert (status, err) == (0, "")
    assert head.split() == ["suite", "model", "prediction", "passed", "rate", "95", "%", "chance"]
    assert row.split()[:2] == ["agreement", "tiny"]
    assert "3/3" in row


@pytest.mark.parametrize("rows", ["rates", "outcomes", "regions", "tokens"])
def test_every_table_in_every_form_is_the_frame_of_the_library(capsysbinary, tmp_path, model, rows) -> None:
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
        assert as_csv[name].astype(float).tolist() == pytest.approx(
            frame[name].tolist(), nan_ok=True, abs=1e-12
        )


def test_parquet_holds_the_frame_of_the_library(capsysbinary, model) -> None:
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


def test_the_policy_is_followed(capsysbinary, model) -> None:
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
    assert (row["bos"], row["eos"], row["metric"]) == ("never", "True", "mean")


@pytest.mark.parametrize(("least", "status"), [("0.9", 0), ("1", 0)])
def test_a_gate_that_is_passed(capsysbinary, model, least, status) -> None:
    assert run(capsysbinary, "evaluate", "agreement.json", "-m", model, "--fail-under", least)[0] == status


def test_a_gate_that_is_missed_and_one_that_tests_nothing(capsysbinary, tmp_path, model) -> None:
    (tmp_path / "wrong.json").write_bytes(suite_bytes(formulas=("(2;%match%) > (2;%mismatch%)",)))
    (tmp_path / "bare.json").write_bytes(suite_bytes(formulas=()))
    assert run(capsysbinary, "evaluate", "wrong.json", "-m", model, "--fail-under", "0.5")[0] == 1
    status, out, err = run(capsysbinary, "evaluate", "bare.json", "-m", model, "--fail-under", "0")
    assert (status, out) == (1, "The suites have no predictions.\n")
    assert "nothing was tested" in err


def test_sentences_are_scored_from_arguments_or_lines(capsysbinary, monkeypatch, model) -> None:
    argued = run(capsysbinary, "score", "-m", model, "The woman plays.", "The boys run.")
    monkeypatch.setattr("sys.stdin", io.StringIO("The woman plays.\n\nThe boys run.\n"))
    assert run(capsysbinary, "score", "-m", model) == argued
    rows = pd.read_csv(io.StringIO(argued[1]))
    assert rows.query("text_number == 2 and not special")["token"].tolist() == ["The", "boys", "run", "."]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(capsysbinary, "score", "-m", model)[0] == 2


def test_findings_are_listed_and_an_error_among_them_is_status_1(capsysbinary, tmp_path) -> None:
    status, out, _ = run(capsysbinary, "lint", "agreement.json")
    assert (status, out.splitlines()[0]) == (0, "agreement.json: 1 findings")
    document = suite_json()
    for region in document["items"][0]["conditions"][0]["regions"]:
        region["content"] = ""
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    status, out, _ = run(capsysbinary, "lint", "agreement.json", "wrong.json", "--format", "json")
    assert status == 1
    assert "empty-sentence" in {one["code"] for one in json.loads(out)["wrong.json"]["findings"]}


@pytest.mark.parametrize("form", ["json", "json-trimmed", "json-early", "csv", "tsv", "csv-excel", "xlsx"])
def test_what_is_converted_is_read_again(capsysbinary, form) -> None:
    name = f"out.{'xlsx' if form == 'xlsx' else form.split('-')[0]}"
    assert run(capsysbinary, "convert", "agreement.json", "--to", form, "-o", name)[0] == 0
    found, wanted = lmgym.load_suite(name), lmgym.load_suite("agreement.json")
    assert [row.contents for row in found.sentences] == [row.contents for row in wanted.sentences]
    assert found.region_names == wanted.region_names


def test_the_format_is_that_of_the_files_ending(capsysbinary, tmp_path) -> None:
    run(capsysbinary, "convert", "agreement.json", "-o", "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("item_number")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["evaluate", "none.json", "-m", "MODEL"], "none.json: No such file"),
        (["evaluate", "no*.json", "-m", "MODEL"], "No file matches no*.json"),
        (["evaluate", "agreement.json", "-m", "nowhere"], "There is no model at nowhere"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--rows", "tokens"], "needs --format"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--format", "parquet"], "--output"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--whitespace", "trailing"], "n-gram"),
        (["evaluate", "broken.json", "-m", "MODEL"], "broken.json cannot be read as a suite"),
        (["evaluate", "agreement.json", "-m", "MODEL", "-o", "no/folder/out"], "no/folder/out"),
        (["evaluate", "agreement.json", "-m", "MODEL", "--bos", "NOWORD"], "NOWORD"),
        (["lint", "none.json"], "none.json: No such file"),
        (["convert", "none.json"], "none.json: No such file"),
        (["convert", "agreement.json", "--to", "xlsx"], "--output"),
        (["evalute"], "Did you mean evaluate?"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_message_and_status_2(capsysbinary, tmp_path, model, argv, said) -> None:
    (tmp_path / "broken.json").write_text('{"items": []')
    status, out, err = run(capsysbinary, *(model if word == "MODEL" else word for word in argv))
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "name", [name for name, (module, _) in COMMANDS.items() if module != "lmgym.cli.site"]
)
def test_every_command_has_help(capsysbinary, name) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: lmgym {name}" in capsysbinary.readouterr().out.decode()


def test_help_lists_the_commands_and_loads_no_big_package() -> None:
    code = (
        "import sys; from lmgym.cli import main; main(['--help']);"
        "print(sorted({'torch', 'transformers', 'pandas', 'scipy', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")
    assert all(name in done.stdout for name in COMMANDS)


def test_a_sheet_with_doubtful_columns_is_asked_about(capsysbinary, model) -> None:
    path = CONFORMANCE.parent / "cases" / "author" / "pcibex_wide.csv"
    if not path.is_file():
        pytest.skip(f"no such file: {path}")
    status, _, err = run(capsysbinary, "lint", str(path))
    assert status == 2
    assert "For example: --columns " in err
