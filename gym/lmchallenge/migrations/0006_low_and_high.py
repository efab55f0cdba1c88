"""Rename the limits of intervals in stored statistics, and drop the counts of removed charts."""

from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_NAMES = {"from": "from_characters", "to": "to_characters"}


def renamed(value: Any) -> Any:
    """Return stored statistics with `interval` replaced by `low` and `high`."""
    if isinstance(value, list):
        return [renamed(one) for one in value]
    if not isinstance(value, dict):
        return value
    result = {_NAMES.get(name, name): renamed(one) for name, one in value.items()}
    if "interval" in result:
        result["low"], result["high"] = result.pop("interval") or (None, None)
    return result


def rename(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    games = apps.get_model("lmchallenge", "Game").objects
    for pk in list(games.values_list("pk", flat=True)):
        game = games.only("statistics").get(pk=pk)
        for counted in game.statistics.values():
            more = counted.get("more", {})
            counted["more"] = {
                name: renamed(value) for name, value in more.items() if name not in ("course", "by_position")
            }
            if "bits_per_character" in counted["more"]:
                counted["more"]["bits_per_character"].setdefault("low", None)
                counted["more"]["bits_per_character"].setdefault("high", None)
            if "intervals" in counted:
                counted["intervals"] = {
                    name: dict(zip(("low", "high"), limits or (None, None), strict=True))
                    for name, limits in counted["intervals"].items()
                }
        game.save(update_fields=["statistics"])


class Migration(migrations.Migration):
    dependencies = [("lmchallenge", "0005_remove_playground")]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop)]
