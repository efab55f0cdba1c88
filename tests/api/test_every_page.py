"""The API does everything the pages do: every address of a page is either done by operations of the API or has a
reason why there is none, and every operation belongs to a page or says why it has none.

A new page without an entry here fails, and so does an entry that names an operation that is not there."""

from __future__ import annotations

import json

from django.urls import get_resolver

from gym.api.description import FILE
from tests.permissions.test_every_url import patterns

OPERATIONS = {
    operation["operationId"]
    for address in json.loads(FILE.read_text(encoding="utf-8"))["paths"].values()
    for operation in address.values()
}

LINKS = "leads to other pages and shows nothing of its own"
PASSWORD = "belongs to the account's password and session, which a token must never reach"

BY_OPERATIONS: dict[str, str] = {
    # suites
    "suite-list": "suites_list tags_list",
    "suite-import": "suites_create suites_import_create suites_freeze_create runs_batch_create",
    "suite-import-report": "suites_import_retrieve suites_create suites_draft_update",
    "several-suites": "suites_freeze_create suites_partial_update runs_batch_create suites_revisions_export_retrieve",
    "suite-new": "suites_create suites_copy_create",
    "suite-detail": "suites_retrieve suites_revisions_list suites_revisions_retrieve",
    "suite-editor": "suites_draft_create suites_draft_retrieve suites_draft_cells_list "
    "suites_draft_cells_partial_update suites_lint_retrieve suites_lint_create suites_preview_create "
    "formulas_parse_create formulas_explain_create formulas_evaluate_create designs_explain_create",
    "suite-pasted-sheet": "suites_draft_update suites_draft_cells_partial_update",
    "suite-edit": "suites_partial_update",
    "suite-upload": "suites_draft_update",
    "suite-copy": "suites_copy_create",
    "suite-freeze": "suites_freeze_create suites_diff_retrieve suites_lint_retrieve runs_batch_create",
    "suite-diff": "suites_diff_retrieve",
    "suite-discard-draft": "suites_draft_destroy",
    "suite-delete": "suites_destroy",
    "suite-people": "suites_people_list suites_people_create suites_partial_update",
    "suite-collaborator-role": "suites_people_partial_update",
    "suite-collaborator-remove": "suites_people_destroy",
    "suite-invitation-withdraw": "suites_people_destroy",
    "suite-leave": "suites_people_destroy",
    "suite-new-address": "suites_new_address_create",
    "suite-revision": "suites_revisions_retrieve",
    "suite-items": "suites_revisions_sentences_list",
    "suite-errata": "suites_revisions_partial_update",
    "suite-download": "suites_revisions_export_retrieve",
    "export-suite": "suites_revisions_export_retrieve",
    # models
    "model-list": "models_list",
    "model-register": "models_create backends_list backends_retrieve backends_download_create",
    "model-detail": "models_retrieve runs_list models_profile_retrieve figures_retrieve",
    "model-edit": "models_partial_update",
    "model-correct": "models_partial_update",
    "model-delete": "models_destroy",
    "model-people": "models_people_list models_people_create",
    "model-collaborator-role": "models_people_partial_update",
    "model-collaborator-remove": "models_people_destroy",
    "model-invitation-withdraw": "models_people_destroy",
    "model-leave": "models_people_destroy",
    "model-check": "models_check_create",
    "model-start-token": "models_partial_update",
    "model-approve": "models_approve_create",
    "model-refuse": "models_refuse_create",
    "model-status": "models_retrieve",
    # runs and results
    "run-list": "runs_list",
    "run-start": "runs_create runs_batch_create",
    "run-detail": "runs_retrieve runs_results_retrieve runs_results_predictions_list",
    "suite-under-way": "runs_list",
    "run-progress": "runs_retrieve jobs_retrieve",
    "run-cancel": "runs_cancel_create jobs_cancel_create",
    "run-retry": "runs_retry_create",
    "run-delete": "runs_destroy",
    "run-item": "runs_results_items_list runs_results_regions_list runs_results_tokens_list",
    "run-chart": "figures_retrieve",
    "run-download": "runs_results_retrieve runs_results_regions_list runs_results_tokens_list",
    "results-upload": "uploads_plan_create uploads_create",
    "suite-results-upload": "uploads_plan_create uploads_create",
    "upload-report": "uploads_list uploads_retrieve",
    "upload-delete": "uploads_destroy",
    "upload-retry": "jobs_retry_create",
    "export-table": "exports_retrieve",
    "export-evaluated": "runs_evaluated_retrieve",
    "figure": "figures_retrieve",
    "leaderboard": "leaderboard_retrieve",
    "leaderboard-download": "leaderboard_retrieve",
    "leaderboard-run-missing": "leaderboard_run_missing_create",
    "compare": "compare_models compare_on_suite compare_items",
    "collection-list": "collections_list",
    "collection-new": "collections_create",
    "collection-detail": "collections_retrieve collections_files_retrieve",
    "collection-edit": "collections_partial_update collections_suites_create collections_suites_destroy",
    "collection-people": "collections_people_list collections_people_create",
    "collection-collaborator-role": "collections_people_partial_update",
    "collection-collaborator-remove": "collections_people_destroy",
    "collection-invitation-withdraw": "collections_people_destroy",
    "collection-leave": "collections_people_destroy",
    "collection-publish": "collections_publish_create",
    "collection-delete": "collections_destroy",
    "collection-download": "collections_files_retrieve",
    "collection-zip": "collections_files_retrieve",
    "collection-run-missing": "leaderboard_run_missing_create",
    "queue": "queue_retrieve jobs_list runs_list",
    # agents
    "agent-home": "agent_servers_list agent_suites_list",
    "agent-server": "agent_servers_retrieve agent_runs_list",
    "agent-server-new": "agent_servers_create",
    "agent-server-edit": "agent_servers_partial_update",
    "agent-server-check": "agent_servers_check_create",
    "agent-server-delete": "agent_servers_destroy",
    "agent-server-status": "agent_servers_retrieve",
    "agent-suite": "agent_suites_retrieve agent_suites_cases_list agent_suites_matrix_retrieve "
    "agent_suites_schedules_list agent_runs_list",
    "agent-suite-new": "agent_suites_create",
    "agent-suite-edit": "agent_suites_partial_update",
    "agent-suite-people": "agent_suites_people_list agent_suites_people_create",
    "agent-suite-collaborator-role": "agent_suites_people_partial_update",
    "agent-suite-collaborator-remove": "agent_suites_people_destroy",
    "agent-suite-invitation-withdraw": "agent_suites_people_destroy",
    "agent-suite-leave": "agent_suites_people_destroy",
    "agent-suite-delete": "agent_suites_destroy",
    "agent-suite-import": "agent_suites_cases_create",
    "agent-suite-download": "agent_suites_export_retrieve",
    "agent-suite-run": "agent_runs_create agent_runs_batch_create",
    "agent-schedule-new": "agent_suites_schedules_create",
    "agent-schedule-resume": "agent_suites_schedules_resume_create",
    "agent-schedule-delete": "agent_suites_schedules_destroy",
    "agent-case": "agent_suites_cases_retrieve",
    "agent-case-new": "agent_suites_cases_create",
    "agent-case-new-form": "agent_suites_cases_create",
    "agent-case-edit": "agent_suites_cases_partial_update",
    "agent-case-form": "agent_suites_cases_partial_update",
    "agent-case-check": "agent_suites_check_create",
    "agent-case-delete": "agent_suites_cases_destroy",
    "agent-case-download": "agent_suites_cases_retrieve",
    "agent-runs": "agent_runs_list",
    "agent-run": "agent_runs_retrieve",
    "agent-run-progress": "agent_runs_retrieve jobs_retrieve",
    "agent-run-cancel": "agent_runs_cancel_create",
    "agent-run-retry": "agent_runs_retry_create",
    "agent-run-rescore": "agent_runs_rescore_create",
    "agent-run-download": "agent_runs_files_retrieve agent_runs_results_retrieve",
    "agent-case-run": "agent_runs_cases_retrieve",
    "agent-compare": "agent_compare_retrieve",
    "agent-compare-download": "agent_compare_retrieve",
    "agent-assess": "agent_runs_failures_retrieve",
    "agent-case-run-download": "agent_runs_cases_retrieve",
    "agent-assess-download": "agent_runs_failures_retrieve",
    "agent-naming": "agent_runs_namings_create agent_runs_namings_retrieve",
    "agent-naming-forget": "agent_runs_cases_naming_destroy",
    "agent-mode": "agent_suites_failure_modes_update",
    # ProPara
    "propara-list": "propara_answer_sets_list",
    "propara-new": "propara_answer_sets_create",
    "propara-set": "propara_answer_sets_retrieve propara_answer_sets_versions_list propara_submissions_list "
    "propara_answer_sets_versions_leaderboard_list",
    "propara-version": "propara_answer_sets_versions_retrieve propara_submissions_list",
    "propara-published": "propara_answer_sets_versions_published_list propara_answer_sets_versions_published_create",
    "propara-published-known": "propara_answer_sets_versions_published_known_create",
    "propara-published-edit": "propara_answer_sets_versions_published_retrieve "
    "propara_answer_sets_versions_published_partial_update",
    "propara-published-delete": "propara_answer_sets_versions_published_destroy",
    "propara-score-earlier": "propara_answer_sets_versions_score_earlier_create",
    "propara-score-on": "propara_submissions_score_on_create",
    "propara-submission-save": "propara_submissions_save_create",
    "propara-edit": "propara_answer_sets_partial_update",
    "propara-people": "propara_answer_sets_people_list propara_answer_sets_people_create",
    "propara-collaborator-role": "propara_answer_sets_people_partial_update",
    "propara-collaborator-remove": "propara_answer_sets_people_destroy",
    "propara-invitation-withdraw": "propara_answer_sets_people_destroy",
    "propara-leave": "propara_answer_sets_people_destroy",
    "propara-delete": "propara_answer_sets_destroy",
    "propara-version-new": "propara_answer_sets_versions_create",
    "propara-download": "propara_answer_sets_versions_files_retrieve",
    "propara-answers": "propara_answer_sets_versions_files_retrieve",
    "propara-submit": "propara_submissions_create propara_evaluate_create",
    "propara-generate": "propara_generate_create",
    "propara-submission": "propara_submissions_retrieve propara_submissions_report_retrieve "
    "propara_submissions_processes_list",
    "propara-submission-progress": "propara_submissions_retrieve",
    "propara-submission-agree": "propara_submissions_agree_create",
    "propara-submission-cancel": "propara_submissions_cancel_create",
    "propara-submission-retry": "propara_submissions_retry_create",
    "propara-submission-edit": "propara_submissions_partial_update",
    "propara-submission-delete": "propara_submissions_destroy",
    "propara-submission-download": "propara_submissions_files_retrieve",
    "propara-process": "propara_submissions_processes_retrieve",
    "propara-compare": "propara_compare_retrieve",
    "propara-compare-download": "propara_compare_retrieve",
    "propara-compare-process": "propara_submissions_processes_retrieve",
    "propara-rescore": "propara_rescore_create",
    # LM Challenge
    "lmc-list": "lmc_corpora_list lmc_games_list",
    "lmc-corpus": "lmc_corpora_retrieve lmc_games_list",
    "lmc-corpus-new": "lmc_corpora_create lmc_check_create",
    "lmc-corpus-edit": "lmc_corpora_partial_update",
    "lmc-corpus-people": "lmc_corpora_people_list lmc_corpora_people_create",
    "lmc-corpus-collaborator-role": "lmc_corpora_people_partial_update",
    "lmc-corpus-collaborator-remove": "lmc_corpora_people_destroy",
    "lmc-corpus-invitation-withdraw": "lmc_corpora_people_destroy",
    "lmc-corpus-leave": "lmc_corpora_people_destroy",
    "lmc-corpus-delete": "lmc_corpora_destroy",
    "lmc-corpus-download": "lmc_corpora_files_retrieve",
    "lmc-start": "lmc_games_create lmc_games_batch_create lmc_players_list",
    "lmc-upload": "lmc_logs_create",
    "lmc-playground": "lmc_guesses_create lmc_guesses_retrieve",
    "lmc-compare": "lmc_compare_retrieve",
    "lmc-compare-csv": "lmc_compare_retrieve",
    "lmc-compare-text": "lmc_compare_text_retrieve",
    "lmc-game": "lmc_games_retrieve lmc_games_statistics_retrieve",
    "lmc-progress": "lmc_games_retrieve",
    "lmc-cancel": "lmc_games_cancel_create",
    "lmc-retry": "lmc_games_retry_create",
    "lmc-count-again": "lmc_games_count_again_create",
    "lmc-edit": "lmc_games_partial_update",
    "lmc-delete": "lmc_games_destroy",
    "lmc-text": "lmc_games_text_retrieve lmc_games_files_retrieve",
    "lmc-search": "lmc_games_search_retrieve",
    "lmc-download": "lmc_games_files_retrieve",
    # accounts
    "notifications": "notifications_list",
    "notifications-read": "notifications_read_create",
    "notification-read": "notifications_read_create",
    "home": "suites_list runs_list models_list invitations_list",
    "profile": "me_retrieve",
    "invitation-accept": "invitations_accept_create",
    "invitation-decline": "invitations_destroy",
    # staff
    "staff": "staff_workers_list staff_failures_list staff_users_list staff_storage_retrieve staff_doctor_retrieve "
    "queue_retrieve jobs_list models_list",
    "staff-doctor": "staff_doctor_create",
    "staff-tidy": "staff_tidy_create",
    "staff-accounts": "staff_accounts_list",
    "staff-clean-up": "staff_clean_up_retrieve staff_clean_up_create",
}
WITHOUT: dict[str, str] = {
    "about": LINKS,
    "agent-schedule-limits": "the hint of a form while it is filled in",
    "help": LINKS,
    "help-page": "texts for people, which are files of the project",
    "help-template": "files of the project, the same for everybody",
    "matrix": "an old address that leads to the leaderboard",
    "propara-compare-former": LINKS,
    "propara-compare-former-process": LINKS,
    "healthz": "is itself for programs",
    "admin-sign-in": PASSWORD,
    "login": PASSWORD,
    "logout": PASSWORD,
    "sign-up": PASSWORD,
    "profile-edit": PASSWORD,
    "password-change": PASSWORD,
    "password-reset": PASSWORD,
    "password-reset-sent": PASSWORD,
    "password-reset-confirm": PASSWORD,
    "token-list": "a token that makes tokens could not be taken back",
    "token-revoke": "a token that makes tokens could not be taken back",
    "account-delete": PASSWORD,
}
PROGRAMS_ONLY = {
    "root_retrieve": "where things are",
    "schema_retrieve": "the description itself",
    "score_create": "sentences without a suite",
    "score_retrieve": "sentences without a suite",
}


def pages() -> set[str]:
    names = {pattern.name for _, pattern in patterns(get_resolver()) if pattern.name}
    return {name for name in names if not name.startswith("api-")}


def named(names: str) -> set[str]:
    return set(names.split())


def test_every_page_is_done_by_operations_or_says_why_there_is_none():
    known = set(BY_OPERATIONS) | set(WITHOUT)
    assert pages() - known == set(), "say here which operations do what these pages do"
    assert known - pages() == set(), "these pages are gone"
    assert set(BY_OPERATIONS) & set(WITHOUT) == set()
    assert all(WITHOUT.values())


def test_every_operation_that_a_page_names_is_there():
    missing = {page: named(names) - OPERATIONS for page, names in BY_OPERATIONS.items()}
    assert {page: names for page, names in missing.items() if names} == {}
    assert all(named(names) for names in BY_OPERATIONS.values())


def test_every_operation_belongs_to_a_page_or_says_why_it_has_none():
    used = {name for names in BY_OPERATIONS.values() for name in named(names)}
    assert OPERATIONS - used - set(PROGRAMS_ONLY) == set()
    assert set(PROGRAMS_ONLY) - OPERATIONS == set()
