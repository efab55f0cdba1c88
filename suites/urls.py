from django.urls import path

from gym.sharing.views import people_urls
from suites import history_views, views

urlpatterns = [
    path("new/", views.suite_new, name="suite-new"),
    path("<slug:slug>/editor/", views.suite_editor, name="suite-editor"),
    path("<slug:slug>/editor/sheet/", views.suite_pasted_sheet, name="suite-pasted-sheet"),
    path("<slug:slug>/history/", history_views.suite_history, name="suite-history"),
    path("<slug:slug>/history/<int:version>/", history_views.suite_past, name="suite-past"),
    path("<slug:slug>/edit/", views.suite_edit, name="suite-edit"),
    path("<slug:slug>/upload/", views.suite_upload, name="suite-upload"),
    path("<slug:slug>/copy/", views.suite_copy, name="suite-copy"),
    path("<slug:slug>/discard-draft/", views.suite_discard_draft, name="suite-discard-draft"),
    path("<slug:slug>/delete/", views.suite_delete, name="suite-delete"),
    *people_urls(views.SHAREABLE),
    path("<slug:slug>/new-address/", views.suite_new_address, name="suite-new-address"),
    path("<slug:slug>/r<int:number>/items/", views.suite_items, name="suite-items"),
    path("<slug:slug>/r<int:number>/errata/", views.suite_errata, name="suite-errata"),
    path("<slug:slug>/r<int:number>/<str:form>/", views.suite_download, name="suite-download"),
]
