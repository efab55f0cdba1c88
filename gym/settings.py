"""Settings for LM Gym, read from environment variables. The defaults suit a laptop.

docs/deploy.md lists every variable; tests/test_settings_docs.py fails when one is missing there.
"""

from __future__ import annotations

from pathlib import Path

from csp.constants import NONE, SELF
from platformdirs import user_data_path

from gym import env
from gym.monitoring import sentry
from gym.reachability import is_local_only, require_own_secret
from lmgym import __version__

BASE_DIR = Path(__file__).resolve().parent.parent
# A site installed by pip (lmgym/_site) keeps its data outside site-packages, where an upgrade would replace them.
_DATA = user_data_path("lm-gym") if BASE_DIR.name == "_site" else BASE_DIR / "var"
VAR_DIR = env.folder("GYM_VAR_DIR", _DATA)

DEBUG = env.flag("GYM_DEBUG", False)
INSECURE_SECRET_KEY = "insecure-laptop-key-set-GYM_SECRET_KEY-before-others-can-reach-this-site"  # noqa: S105
SECRET_KEY = env.secret("GYM_SECRET_KEY", INSECURE_SECRET_KEY)
GYM_SECRETS_KEY = env.secret("GYM_SECRETS_KEY")
ALLOWED_HOSTS = env.words("GYM_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("GYM_CSRF_TRUSTED_ORIGINS")
HTTPS = env.flag("GYM_HTTPS", False)
GYM_BEHIND_PROXY = env.flag("GYM_BEHIND_PROXY", False)
GYM_LISTENS_ON = env.text("GYM_LISTENS_ON", "127.0.0.1")
_ONLY_HERE = is_local_only(ALLOWED_HOSTS, GYM_LISTENS_ON)
require_own_secret(SECRET_KEY, INSECURE_SECRET_KEY, is_local=_ONLY_HERE)

INSTALLED_APPS = [
    "gym.accounts",
    "gym.accounts.external",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "crispy_forms",
    "crispy_bootstrap5",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.mfa",
    "csp",
    "gym",
    "gym.page_cache",
    "gym.api",
    "gym.jobs",
    "gym.notices",
    "gym.sharing",
    "suites",
    "models_registry",
    "gym.runs",
    "gym.people",
    "gym.staff",
    "gym.collections",
    "gym.propara",
    "gym.agents",
    "gym.lmchallenge",
    "gym.demo",
    "gym.pages",
]

MIDDLEWARE = [
    "gym.monitoring.middleware.Requests",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "gym.middleware.Compressed",
    "gym.middleware.StaticFiles",
    "gym.middleware.HealthChecks",
    "gym.visitor_pages.VisitorPages",
    "gym.middleware.NoStoreMiddleware",
    "gym.open_streams.OpenStreams",
    "gym.middleware.HtmxRedirects",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "gym.accounts.middleware.ProxyUserChanges",
    "gym.middleware.RequireSecondFactor",
    "django_htmx.middleware.HtmxMiddleware",
    "gym.sharing.redirects.redirect_old_addresses",
    "gym.staff.log.StaffLog",
    "gym.time_limits.TimeLimits",
    "gym.middleware.Conflicts",
    "gym.middleware.OverQuotas",
]

ROOT_URLCONF = "gym.urls"
WSGI_APPLICATION = "gym.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "gym.context_processors.site",
            ],
            "builtins": ["gym.templatetags.gym"],
        },
    }
]
CRISPY_ALLOWED_TEMPLATE_PACKS = "bootstrap5"
CRISPY_TEMPLATE_PACK = "bootstrap5"

# --- data ------------------------------------------------------------------------------------------------------
DATABASES = {"default": env.database("GYM_DATABASE_URL", VAR_DIR / "gym.sqlite3")}
GYM_DATABASE_WAIT_SECONDS = env.number("GYM_DATABASE_WAIT_SECONDS", 60)
GYM_WEB_STATEMENT_SECONDS = env.number("GYM_WEB_STATEMENT_SECONDS", 20)
GYM_WEB_REQUEST_SECONDS = env.number("GYM_WEB_REQUEST_SECONDS", 45)
GYM_WEB_HANG_SECONDS = env.number("GYM_WEB_HANG_SECONDS", 60, least=1)
GYM_WEB_THREADS = 8  # of a web process; `manage.py web --threads` sets it
GYM_PAGE_CACHE_MB = 0 if DEBUG else env.number("GYM_PAGE_CACHE_MB", 64)  # of each web process
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 6_000_000
FILE_UPLOAD_MAX_MEMORY_SIZE = 6_000_000
DATA_UPLOAD_MAX_NUMBER_FILES = 510  # a folder of agent test cases

# --- people ----------------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["gym.accounts.backends.Backend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_RESET_TIMEOUT = 6 * 3600
GYM_SIGN_UP = env.flag("GYM_SIGN_UP", True)
GYM_SIGN_IN_TRIES_PER_ACCOUNT = env.number("GYM_SIGN_IN_TRIES_PER_ACCOUNT", 10)
GYM_SIGN_IN_TRIES_PER_ADDRESS = env.number("GYM_SIGN_IN_TRIES_PER_ADDRESS", 50)
GYM_SIGN_UPS_PER_ADDRESS = env.number("GYM_SIGN_UPS_PER_ADDRESS", 20)
GYM_API_REQUESTS_PER_MINUTE = env.number("GYM_API_REQUESTS_PER_MINUTE", 600)
GYM_DEMO_ACCOUNTS = env.flag("GYM_DEMO_ACCOUNTS", True)
GYM_DEMO_TRAINED_MODEL = env.flag("GYM_DEMO_TRAINED_MODEL", True)
GYM_DEMO_LINE = (
    "Demo accounts: alice (password demo-alice), bob (demo-bob), admin (demo-admin)"
    if GYM_DEMO_ACCOUNTS and _ONLY_HERE and not GYM_BEHIND_PROXY
    else ""
)

# --- sign-in through other services, second factors, invitations (docs/accounts.md) -----------------------------
GYM_OIDC_ISSUER = env.issuer("GYM_OIDC_ISSUER")
GYM_OIDC_CLIENT_ID = env.text("GYM_OIDC_CLIENT_ID")
GYM_OIDC_CLIENT_SECRET = env.secret("GYM_OIDC_CLIENT_SECRET")
GYM_OIDC_NAME = env.text("GYM_OIDC_NAME", "Single sign-on")
GYM_OIDC_GROUPS_CLAIM = env.text("GYM_OIDC_GROUPS_CLAIM", "groups")
GYM_ORCID_CLIENT_ID = env.text("GYM_ORCID_CLIENT_ID")
GYM_ORCID_CLIENT_SECRET = env.secret("GYM_ORCID_CLIENT_SECRET")
GYM_ORCID_ISSUER = env.issuer("GYM_ORCID_ISSUER", "https://orcid.org")
GYM_GITHUB_CLIENT_ID = env.text("GYM_GITHUB_CLIENT_ID")
GYM_GITHUB_CLIENT_SECRET = env.secret("GYM_GITHUB_CLIENT_SECRET")
GYM_LDAP_URL = env.directory("GYM_LDAP_URL")
GYM_LDAP_START_TLS = env.flag("GYM_LDAP_START_TLS", True)
GYM_LDAP_BIND_DN = env.text("GYM_LDAP_BIND_DN")
GYM_LDAP_BIND_PASSWORD = env.secret("GYM_LDAP_BIND_PASSWORD")
GYM_LDAP_USERS = env.text("GYM_LDAP_USERS")
GYM_LDAP_USER_FILTER = env.text("GYM_LDAP_USER_FILTER", "(uid=%(user)s)")
GYM_LDAP_GROUPS = env.text("GYM_LDAP_GROUPS")
GYM_PROXY_USER_HEADER = env.text("GYM_PROXY_USER_HEADER")
GYM_PROXY_EMAIL_HEADER = env.text("GYM_PROXY_EMAIL_HEADER")
GYM_PROXY_GROUPS_HEADER = env.text("GYM_PROXY_GROUPS_HEADER")
GYM_PROXY_ADDRESSES = env.networks("GYM_PROXY_ADDRESSES")
GYM_SIGN_IN_GROUPS = env.words("GYM_SIGN_IN_GROUPS")
GYM_STAFF_GROUPS = env.words("GYM_STAFF_GROUPS")
GYM_GROUP_MAP = env.pairs("GYM_GROUP_MAP")
GYM_SIGN_UP_FROM = env.choices("GYM_SIGN_UP_FROM", "", ("oidc", "orcid", "github", "ldap", "proxy"))
GYM_LINK_BY_EMAIL = env.flag("GYM_LINK_BY_EMAIL", False)
GYM_REQUIRE_2FA = env.choice("GYM_REQUIRE_2FA", "off", ("off", "optional", "staff", "everyone"))
GYM_INVITATION_DAYS = env.number("GYM_INVITATION_DAYS", 7, least=1)

ACCOUNT_ADAPTER = "gym.accounts.external.adapters.AccountAdapter"
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa"]  # codes by mail have no page here
ACCOUNT_RATE_LIMITS = False  # gym.accounts.throttle counts in the database, so for all processes
ACCOUNT_SIGNUP_FIELDS = ["username*", "email"]
ACCOUNT_UNIQUE_EMAIL = False
SOCIALACCOUNT_ADAPTER = "gym.accounts.external.adapters.ExternalAdapter"
SOCIALACCOUNT_AUTO_SIGNUP = False  # user names are public, so everybody chooses theirs
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_FORMS = {"signup": "gym.accounts.external.forms.ChooseName"}
SOCIALACCOUNT_QUERY_EMAIL = True
MFA_ADAPTER = "gym.accounts.second_factor.SecondFactorAdapter"
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_FORMS = {
    "activate_totp": "gym.accounts.second_factor.NewAppForm",
    "authenticate": "gym.accounts.second_factor.CodeForm",
    "reauthenticate": "gym.accounts.second_factor.CodeAgainForm",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = _ONLY_HERE  # browsers themselves allow http for localhost only

# --- e-mail ----------------------------------------------------------------------------------------------------
EMAIL = env.email("GYM_EMAIL_URL")
EMAIL_BACKEND = EMAIL.backend
EMAIL_HOST, EMAIL_PORT = EMAIL.host, EMAIL.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = EMAIL.user, EMAIL.password
EMAIL_USE_TLS, EMAIL_USE_SSL = EMAIL.starttls, EMAIL.tls
EMAIL_TIMEOUT = 20
ADMINS = [("", address) for address in env.mail_addresses("GYM_ADMIN_EMAIL")]
EMAIL_SUBJECT_PREFIX = "[LM Gym] "
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("GYM_EMAIL_FROM", "LM Gym <gym@localhost>")

# --- jobs ------------------------------------------------------------------------------------------------------
GYM_BROKER_URL = env.broker("GYM_BROKER_URL", "database://")
GYM_BROKER_NAMESPACE = env.text("GYM_BROKER_NAMESPACE", "gym")
GYM_MODEL_QUEUES = env.sizes("GYM_MODEL_QUEUES")
GYM_JOB_QUEUES = list(
    dict.fromkeys(
        ["default", "preview", "short", "agents", *GYM_MODEL_QUEUES, *env.words("GYM_JOB_QUEUES", "")]
    )
)
GYM_JOB_QUICK_QUEUES = ("preview",)
GYM_JOB_OWN_THREAD_QUEUES = ("short", "agents")
GYM_AGENT_RUN_SECONDS = env.number("GYM_AGENT_RUN_SECONDS", 3600, least=1)
GYM_MODEL_CHECK_SECONDS = env.number("GYM_MODEL_CHECK_SECONDS", 1800, least=1)
GYM_MODEL_CHECK_MEMORY_MB = env.number("GYM_MODEL_CHECK_MEMORY_MB", 0)
GYM_LMC_PLAYERS = env.text("GYM_LMC_PLAYERS", "")
GYM_JOB_LEASE_SECONDS = env.number("GYM_JOB_LEASE_SECONDS", 60, least=1)
GYM_JOB_TURN_SECONDS = env.number("GYM_JOB_TURN_SECONDS", 600, least=1)
GYM_MAX_WAITING_JOBS = env.number("GYM_MAX_WAITING_JOBS", 20_000)
GYM_REAPER_SECONDS = env.number("GYM_REAPER_SECONDS", 30, least=1)
GYM_MAX_ACTIVE_JOBS_PER_USER = env.number("GYM_MAX_ACTIVE_JOBS_PER_USER", 200)
GYM_MAX_SENTENCES_PER_DAY = env.number("GYM_MAX_SENTENCES_PER_DAY", 500_000)
GYM_MAX_RUNS_PER_USER = env.number("GYM_MAX_RUNS_PER_USER", 10_000)
GYM_QUOTA_SUITES = env.quota("GYM_QUOTA_SUITES", "500, 500 MB")
GYM_QUOTA_MODELS = env.quota("GYM_QUOTA_MODELS", "500, 100 MB")
GYM_QUOTA_HUMAN_DATA = env.quota("GYM_QUOTA_HUMAN_DATA", "200, 1 GB")
GYM_QUOTA_COLLECTIONS = env.quota("GYM_QUOTA_COLLECTIONS", "500, 50 MB")
GYM_QUOTA_ANSWER_SETS = env.quota("GYM_QUOTA_ANSWER_SETS", "100, 500 MB")
GYM_QUOTA_SUBMISSIONS = env.quota("GYM_QUOTA_SUBMISSIONS", "1000, 2 GB")
GYM_QUOTA_AGENT_SUITES = env.quota("GYM_QUOTA_AGENT_SUITES", "200, 200 MB")
GYM_QUOTA_AGENT_RUNS = env.quota("GYM_QUOTA_AGENT_RUNS", "2000, 2 GB")
GYM_QUOTA_CORPORA = env.quota("GYM_QUOTA_CORPORA", "100, 1 GB")
GYM_QUOTA_GAMES = env.quota("GYM_QUOTA_GAMES", "500, 2 GB")
GYM_SCORE_CACHE_SENTENCES = env.number("GYM_SCORE_CACHE_SENTENCES", 2_000_000)
GYM_EXPORT_MAX_ROWS = env.number("GYM_EXPORT_MAX_ROWS", 1_000_000)
GYM_KEPT_ZIPS_MB = env.number("GYM_KEPT_ZIPS_MB", 1_000)

# --- outbound requests -----------------------------------------------------------------------------------------
GYM_NET_ALLOW = env.words("GYM_NET_ALLOW", "public")

# --- models ----------------------------------------------------------------------------------------------------
GYM_MODEL_DIR = env.folder("GYM_MODEL_DIR", VAR_DIR / "models")
GYM_DEVICE = env.text("GYM_DEVICE", "auto")
GYM_MODEL_MEMORY_MB = env.number("GYM_MODEL_MEMORY_MB", 0)
GYM_TORCH_THREADS = env.number("GYM_TORCH_THREADS", 0)
GYM_WORKERS = env.number("GYM_WORKERS", 1, least=1)
GYM_WORKER_MEMORY_MB = env.number("GYM_WORKER_MEMORY_MB", 0)
GYM_HUB_ALLOWED = env.flag("GYM_HUB_ALLOWED", True)
GYM_HUB_TOKEN = env.secret("GYM_HUB_TOKEN")
GYM_HUB_CACHE_GB = env.number("GYM_HUB_CACHE_GB", 0)
GYM_LMZOO_COMMANDS = env.commands("GYM_LMZOO_COMMANDS")
GYM_CHUNK_SENTENCES = env.number("GYM_CHUNK_SENTENCES", 0)

# --- files -----------------------------------------------------------------------------------------------------
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "gym.static_files.HashedFiles"},
}

# --- language and time -----------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
TIME_ZONE = env.time_zone("GYM_TIME_ZONE", "UTC")
USE_I18N = False
USE_TZ = True

# --- security --------------------------------------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if GYM_BEHIND_PROXY else None
CSRF_FAILURE_VIEW = "gym.error_pages.csrf_failure"

# Memory of each process, for API request counts and computed values. The least recently used entries are dropped first.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["gym.api.parsers.JSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "gym.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticatedOrReadOnly",
        "gym.api.permissions.TokenScope",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["gym.api.authentication.Requests"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "gym.api.schema.GymSchema",
    "EXCEPTION_HANDLER": "gym.api.errors.handle",
    "URL_FORMAT_OVERRIDE": "format",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "LM Gym",
    "VERSION": __version__,
    "DESCRIPTION": "Targeted tests for language models: suites, models, runs and results.",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # Names for choices of fields called "state" or "kind", which would otherwise be named by a hash.
    "ENUM_NAME_OVERRIDES": {
        "AgentServerKind": "gym.agents.models.AgentServer.Kind",
        "GameKind": "gym.lmchallenge.models.Game.Kind",
        "GameState": "gym.lmchallenge.api.games.STATES",
        "JobState": "gym.jobs.models.Job.State",
        "ModelStatus": "models_registry.models.RegisteredModel.Status",
        "OutcomeName": "lmgym.suites.formulas.OUTCOME_NAMES",
        "PrivateOrPublic": "gym.sharing.models.PRIVATE_OR_PUBLIC",
        "RegionMetric": "lmgym.suites.regions.METRICS",
        "RemoveOrKeep": "lmgym.suites.intake.parsing.REMOVE_OR_KEEP",
        "RevisionState": "suites.models.SuiteRevision.State",
        "Role": "gym.sharing.models.Role",
        "RoleOrOwner": "gym.sharing.models.Offer",
        "RunSource": "gym.runs.models.SuiteRun.Source",
        "SubmissionState": "gym.propara.models.Submission.State",
        "SuiteMetric": "suites.api.request_bodies.SUITE_METRICS",
        "Visibility": "gym.sharing.models.Visibility",
    },
    "ENABLE_LIST_MECHANICS_ON_NON_2XX": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "gym.api.schema.shared_components",
    ],
}

# --- watching --------------------------------------------------------------------------------------------------
GYM_METRICS_TOKEN = env.secret("GYM_METRICS_TOKEN")
GYM_METRICS_ALLOW = env.networks("GYM_METRICS_ALLOW")
GYM_SENTRY_DSN = env.secret("GYM_SENTRY_DSN")
if GYM_SENTRY_DSN:
    sentry.start(GYM_SENTRY_DSN)

GYM_LOG_FORMAT = env.choice("GYM_LOG_FORMAT", "text", ("text", "json"))
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "fields": {"()": "gym.log_fields.WithFields"},
        "one_line": {"()": "gym.log_fields.OneLine"},
    },
    "formatters": {
        "text": {
            "()": "gym.accounts.redaction.NoTokens",
            "fmt": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "gym.monitoring.json_logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": GYM_LOG_FORMAT,
            "filters": ["fields", "one_line"],
        },
        "admins": {"class": "gym.monitoring.admin_mail.AdminMail", "level": "ERROR", "formatter": "text"},
    },
    "root": {"handlers": ["console"], "level": env.choice("GYM_LOG_LEVEL", "WARNING", LOG_LEVELS)},
    "loggers": {
        "gym": {"level": env.choice("GYM_LOG_LEVEL", "INFO", LOG_LEVELS)},
        "django": {"level": "INFO"},  # without Django's own handlers, which mail refused requests, too
        "django.request": {"handlers": ["admins"]},
        # a line for each request, which a proxy's log has already, is for programs
        "gym.requests": {} if GYM_LOG_FORMAT == "json" else {"level": "WARNING"},
        # pika logs tracebacks at each lost connection, which gym.jobs reports in one line
        "pika": {"level": "CRITICAL"},
    },
}
