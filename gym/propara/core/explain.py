"""An action file in words, as the reference's explainer prints it. Pure."""

from __future__ import annotations

from gym.propara.core.errors import Crash


def explain(text: str) -> list[str]:
    """One sentence for each event, by process, sentence and text. No validation; other actions are passed over.

    Only a line feed ends a line here, as on the reference's standard input; in files a lone CR does too.
    """
    found: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        fields = line.strip().split("\t")
        if len(fields) != 6:
            raise Crash(
                f"Line {number} has {len(fields)} columns, not 6 (blank cells at its end do not count)."
            )
        process, step, participant, action, before, after = fields
        event = event_sentence(participant, action, before, after)
        if event:
            try:
                order = (int(process), int(step))
            except ValueError:
                raise Crash(f"Line {number}: process and sentence must be whole numbers.") from None
            found.append((*order, f"In paragraph {process}, sentence {step}, {event}"))
    return [sentence for _, _, sentence in sorted(found)]


def event_sentence(participant: str, action: str, before: str, after: str) -> str:
    """What a row says, or nothing for NONE."""
    before, after = (_place(location) for location in (before, after))
    if action == "CREATE":
        return f"the participant `{participant}` is created at `{after}`"
    if action == "DESTROY":
        return f"the participant `{participant}` is destroyed at `{before}`"
    if action == "MOVE":
        return f"the participant `{participant}` is moved from `{before}` to `{after}`"
    return ""


def _place(location: str) -> str:
    return "an unknown location" if location == "?" else location
