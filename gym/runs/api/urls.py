from django.urls import path

from gym.runs.api import compare, downloads, previews, results, runs, uploads

urlpatterns = [
    path("runs/", runs.RunList.as_view(), name="api-runs"),
    path("runs/batch/", runs.RunBatch.as_view(), name="api-run-batch"),
    path("runs/many/", runs.RunMany.as_view(), name="api-run-many"),
    path("runs/<slug:key>/", runs.RunDetail.as_view(), name="api-run"),
    path("runs/<slug:key>/cancel/", runs.RunCancel.as_view(), name="api-run-cancel"),
    path("runs/<slug:key>/retry/", runs.RunRetry.as_view(), name="api-run-retry"),
    path("runs/<slug:key>/results/", results.Results.as_view(), name="api-run-results"),
    path("runs/<slug:key>/results/predictions/", results.Predictions.as_view(), name="api-run-predictions"),
    path("runs/<slug:key>/results/items/", results.Items.as_view(), name="api-run-items"),
    path("runs/<slug:key>/results/regions/", results.Regions.as_view(), name="api-run-regions"),
    path("runs/<slug:key>/results/tokens/", results.Tokens.as_view(), name="api-run-tokens"),
    path("suites/<slug:slug>/preview/", previews.Preview.as_view(), name="api-preview"),
    path("uploads/", uploads.UploadList.as_view(), name="api-uploads"),
    path("uploads/plan/", uploads.UploadPlan.as_view(), name="api-upload-plan"),
    path("uploads/<slug:key>/", uploads.UploadDetail.as_view(), name="api-upload"),
    path("compare/", compare.Models.as_view(), name="api-compare"),
    path("compare/<slug:slug>/", compare.OnSuite.as_view(), name="api-compare-suite"),
    path("compare/<slug:slug>/items/", compare.Items.as_view(), name="api-compare-items"),
    path(
        "suites/<slug:slug>/revisions/<int:number>/export/<slug:form>/",
        downloads.Export.as_view(),
        name="api-export",
    ),
]
