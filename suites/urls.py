from django.urls import path

from suites import views

urlpatterns = [
    path("", views.suite_list, name="suite-list"),
    path("import/", views.suite_import, name="suite-import"),
    path("<slug:slug>/", views.suite_detail, name="suite-detail"),
    path("<slug:slug>/edit/", views.suite_edit, name="suite-edit"),
    path("<slug:slug>/upload/", views.suite_upload, name="suite-upload"),
    path("<slug:slug>/freeze/", views.suite_freeze, name="suite-freeze"),
    path("<slug:slug>/discard-draft/", views.suite_discard_draft, name="suite-discard-draft"),
    path("<slug:slug>/delete/", views.suite_delete, name="suite-delete"),
    path("<slug:slug>/r<int:number>/", views.suite_detail, name="suite-revision"),
    path("<slug:slug>/r<int:number>/items/", views.suite_items, name="suite-items"),
    path("<slug:slug>/r<int:number>/errata/", views.suite_errata, name="suite-errata"),
    path("<slug:slug>/r<int:number>/<str:form>/", views.suite_download, name="suite-download"),
]
