from django.db import migrations


def rename(apps, schema_editor):
    """Rename keys of stored reports as in `lmgym.propara.digest`: low and high for limits, n, process_id, n_warnings."""
    Submission = apps.get_model("propara", "Submission")
    for pk in list(Submission.objects.exclude(report={}).values_list("pk", flat=True)):
        row = Submission.objects.only("report").get(pk=pk)
        intervals = row.report["intervals"]
        if intervals:
            intervals["n"] = intervals.pop("processes")
            for scores in (intervals, *intervals["questions"].values()):
                scores |= {name: limits(scores[name]) for name in ("precision", "recall", "f1")}
        for process in row.report["processes"]:
            process["process_id"] = process.pop("id")
            process["n_warnings"] = process.pop("warnings")
        row.save(update_fields=["report"])


def limits(pair):
    return {"low": pair[0], "high": pair[1]}


class Migration(migrations.Migration):

    dependencies = [
        ("propara", "0007_drop_generation"),
    ]

    operations = [
        migrations.RunPython(rename, elidable=True),
    ]
