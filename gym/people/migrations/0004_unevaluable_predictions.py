from django.db import migrations

NOT_EVALUABLE = 3


def set_apart(apps, schema_editor):
    """Set predictions without an evaluable item apart in stored results, with the rates that counted them as failed."""
    HumanData = apps.get_model("people", "HumanData")
    for pk in list(HumanData.objects.values_list("pk", flat=True)):
        data = HumanData.objects.only("result").get(pk=pk)
        result = data.result
        if "predictions" not in result or "unevaluable" in result:
            continue
        rows = list(zip(result["predictions"], result["crossed"], strict=True))
        has_values = any(
            cell["n"] for row in result["summary"] for cell in (*row["regions"], row["sentence"])
        )
        evaluable = [
            pair for pair in rows if has_values and any(code != NOT_EVALUABLE for code in pair[0]["outcomes"])
        ]
        result["predictions"] = [row for row, _ in evaluable]
        result["crossed"] = [limits for _, limits in evaluable]
        kept = {row["position"] for row in result["predictions"]}
        result["unevaluable"] = [
            {
                **{name: row[name] for name in ("position", "name", "formula")},
                "reason": "no item has values of everything that it compares",
            }
            for row, _ in rows
            if row["position"] not in kept
        ]
        lost = {row["position"] for row in result["unevaluable"]}
        for rule in (*(("each", "all") if lost else ()), *(("first",) if 0 in lost else ())):
            result["scores"].pop(rule, None)
            result["crossed_scores"].pop(rule, None)
        data.save(update_fields=["result"])


class Migration(migrations.Migration):

    dependencies = [
        ("people", "0003_import_is_live"),
    ]

    operations = [
        migrations.RunPython(set_apart, migrations.RunPython.noop, elidable=True),
    ]
