from django.urls import path

from gym.sharing.api import people_api
from suites.api import designs, drafts, formulas, imports, views
from suites.views import SHAREABLE

urlpatterns = [
    path("designs/explain/", designs.ExplainDesign.as_view(), name="api-design-explain"),
    path("suites/", views.SuiteList.as_view(), name="api-suites"),
    path("suites/import/", imports.SuiteImports.as_view(), name="api-suite-imports"),
    path("suites/import/<slug:key>/", imports.SuiteImportReport.as_view(), name="api-suite-import"),
    path("suites/<slug:slug>/", views.SuiteDetail.as_view(), name="api-suite"),
    path("suites/<slug:slug>/copy/", views.SuiteCopy.as_view(), name="api-suite-copy"),
    path("suites/<slug:slug>/new-address/", views.SuiteAddress.as_view(), name="api-suite-new-address"),
    *people_api(SHAREABLE, "suites/<slug:slug>/"),
    path("suites/<slug:slug>/draft/", drafts.Draft.as_view(), name="api-draft"),
    path("suites/<slug:slug>/draft/cells/", drafts.DraftCells.as_view(), name="api-draft-cells"),
    path("suites/<slug:slug>/freeze/", drafts.Freeze.as_view(), name="api-freeze"),
    path("suites/<slug:slug>/lint/", drafts.Lint.as_view(), name="api-lint"),
    path("suites/<slug:slug>/diff/<int:a>/<int:b>/", views.Diff.as_view(), name="api-diff"),
    path("suites/<slug:slug>/revisions/", views.RevisionList.as_view(), name="api-revisions"),
    path("suites/<slug:slug>/revisions/<int:number>/", views.Revision.as_view(), name="api-revision"),
    path(
        "suites/<slug:slug>/revisions/<int:number>/sentences/",
        views.RevisionSentences.as_view(),
        name="api-sentences",
    ),
    path("tags/", views.TagList.as_view(), name="api-tags"),
    path("formulas/parse/", formulas.Parse.as_view(), name="api-formula-parse"),
    path("formulas/explain/", formulas.Explain.as_view(), name="api-formula-explain"),
    path("formulas/evaluate/", formulas.Evaluate.as_view(), name="api-formula-evaluate"),
]
