"""Parse names of conditions and regions typed as a list."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from lmgym.suites.editing import EditError, clean_name


def parts_of(text: str, what: str, most: int) -> list[str]:
    """Split names, one per line or separated by commas; blank ones are skipped. Raises ValidationError for an invalid
    name, a repeated condition, or more than `most` names. `what`: "condition" or "region"."""
    if max(text.count(","), text.count("\n")) > 10 * most:
        raise ValidationError(f"More than {10 * most} {what}s; a suite has at most {most}.")
    lines = [line for line in text.splitlines() if line.strip()]
    texts = lines if len(lines) > 1 else text.split(",")
    try:
        names = [clean_name(name, what) for name in texts if name.strip()]
    except EditError as error:
        raise ValidationError(f"{error.message[0].upper()}{error.message[1:]}.") from error
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated and what == "condition":
        raise ValidationError(f"“{repeated}” appears twice.")
    if len(names) > most:
        raise ValidationError(f"{len(names)} {what}s; a suite has at most {most}.")
    return names
