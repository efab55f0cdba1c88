"""Export stored suites as files, limited to what the reader may see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from gym.accounts.models import AnyUser
from lmgym.suites.formats import files
from lmgym.suites.formats.write import WRITERS
from suites.models import Suite, SuiteRevision
from suites.permissions import may_know_owner
from suites.presenters import owner_name
from suites.selectors import export_document, revisions_for


def file_content(revision: SuiteRevision, form: str, user: AnyUser) -> str | bytes:
    """Return the revision as a file in one of WRITERS, without the author if the reader may not know them."""
    document = export_document(revision, names_author=may_know_owner(user, revision.suite))
    return WRITERS[form](document)


def suites_zip(suites: Iterable[Suite], form: str, user: AnyUser, site: str) -> IO[bytes]:
    """Write a temporary zip with a README and the newest revision of each suite that this user may read (frozen before
    draft). `site`: origin of the site with a trailing slash. The response closes the file."""
    return files.suites_zip(_newest(suites, form, user, site.rstrip("/")), form)


def _newest(suites: Iterable[Suite], form: str, user: AnyUser, site: str) -> Iterator[files.SuiteFile]:
    for suite in suites:
        revision = revisions_for(user, suite).order_by("-state", "-number").first()
        if revision is None:
            continue
        revision.suite = suite
        yield files.SuiteFile(
            suite.slug,
            revision.number,
            revision.sha256 if revision.is_frozen else "",
            suite.title,
            owner_name(suite, user),
            suite.licence,
            f"{site}{revision.get_absolute_url()}",
            file_content(revision, form, user),
        )
