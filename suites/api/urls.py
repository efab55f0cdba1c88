from django.urls import path

from gym.sharing.api import people_api
from suites.api import designs, drafts, formulas, views
from suites.selectors import visible_to

urlpatterns = [
    path("designs/explain/", designs.ExplainDesign.as_view(), name="api-design-explain"),
    path("suites/", views.SuiteList.as_view(), name="api-suites"),
    path("suites/<slug:slug>/", views.SuiteDetail.as_view(), name="api-suite"),
    *people_api("api", visible_to, "suites/<slug:slug>/"),
    path("suites/<slug:slug>/draft/", drafts.Draft.as_view(), name="api-draft"),
    path("suites/<slug:slug>/draft/cells/", drafts.DraftCells.as_view(), name="api-draft-cells"),
    path("suites/<slug:slug>/freeze/", drafts.Freeze.as_view(), name="api-freeze"),
    path("suites/<slug:slug>/lint/", drafts.Lint.as_view(), name="api-lint"),
    path("suites/<slug:slug>/diff/<int:a>/<int:b>/", views.Diff.as_view(), name="api-diff"),
    path("suites/<slug:slug>/revisions/<int:number>/", views.Revision.as_view(), name="api-revision"),
    path("formulas/explain/", formulas.Explain.as_view(), name="api-formula-explain"),
]
