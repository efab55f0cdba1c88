"""Rules about single rows, and what becomes what. Pure; the command line loads it first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Happening = tuple[str, str]
    """Who and where."""
    Happenings = dict[int, list[Happening]]
    """By step, in the file's order of participants."""


def display_name(participant: str) -> str:
    """`a; b` is shown as `a OR b`."""
    if ";" not in participant:
        return participant.strip()
    return " OR ".join([part.strip() for part in participant.split(";")])


def action_problem(action: str, before: str, after: str) -> str:
    """What the reference says about the last three columns of a row, or nothing."""
    if action == "NONE":
        return "" if before == after else f"Unequal NONE locations: {before} -- {after}"
    if action == "CREATE":
        if before != "-":
            return f"Invalid CREATE before_location: {before}"
        return f"Invalid CREATE after_location: {after}" if after in ("", "-") else ""
    if action == "DESTROY":
        if before in ("", "-"):
            return f"Invalid DESTROY before_location: {before}"
        return f"Invalid DESTROY after_location: {after}" if after != "-" else ""
    if action == "MOVE":
        if before in ("", "-"):
            return f"Invalid MOVE before_location: {before}"
        return f"Invalid MOVE after_location: {after}" if after in ("", "-") else ""
    return f"Invalid action: {action}"


def conversions(
    created: Happenings, destroyed: Happenings, steps: int, *, exact: bool = True
) -> list[tuple[str, str, str, int]]:
    """(destroyed, created, location, step). Three rules, the first that applies to a step; those that span two steps
    never look at the last pair of steps.

    Some names and all places come out of sets in the reference; they stand in the order of gym.propara.sets. Where not
    `exact`, places and names without a common alternative stand in the order of their first appearance.
    """
    found: list[tuple[str, str, str, int]] = []
    if not created or not destroyed:
        return found
    for step in sorted(created.keys() | destroyed.keys()):
        new, gone = created.get(step), destroyed.get(step)
        if new and gone:
            found.append((_joined(gone), _joined(new), _places(new + gone, exact), step))
        elif step >= steps - 1:
            continue
        elif gone and step + 1 not in destroyed:
            later = created.get(step + 1)
            if later and (names := _without(later, gone, exact)):
                found.append((_joined(gone), " AND ".join(names), _places(later + gone, exact), step))
        elif new and not gone and step + 1 not in created:
            later = destroyed.get(step + 1)
            if later and (names := _without(later, new, exact)):
                found.append((" AND ".join(names), _joined(new), _places(new + later, exact), step))
    return found


def _joined(happenings: list[Happening]) -> str:
    return " AND ".join([name for name, _ in happenings])


def _without(happenings: list[Happening], others: list[Happening], exact: bool) -> list[str]:
    known = {name for name, _ in others}
    names = [*dict.fromkeys([name for name, _ in happenings if name not in known])]
    if len(names) > 1 and (exact or _share_an_alternative(names)):
        from gym.propara.sets import difference_order

        return difference_order([name for name, _ in happenings], [name for name, _ in others])
    return names


def _share_an_alternative(names: list[str]) -> bool:
    """If none do, they compare as 1 in any order."""
    alternatives = " OR ".join(names).split(" OR ")
    return len(set(alternatives)) < len(alternatives)


def _places(happenings: list[Happening], exact: bool) -> str:
    places = dict.fromkeys([where for _, where in happenings])
    if exact and len(places) > 1:
        from gym.propara.sets import set_order

        return " AND ".join(set_order(places))
    return " AND ".join(places)
