"""Response bodies for leaderboards and comparisons.

Rates are 0..1; intervals are 95%, with null limits if there is no interval.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.api.records import RecordSerializer
from gym.runs.api.query_parameters import PageSerializer
from gym.runs.api.serializers import VERDICT, BelowField, VerdictField
from gym.runs.models import RunScore, SuiteRun
from gym.runs.read.comparison import RunSide
from lmgym.runs.against_chance import CHANCE_TEST, CHANCE_WORDS
from lmgym.runs.comparison import Pair, RateComparison
from lmgym.runs.coverage import COVERAGE
from lmgym.runs.leaderboard.board import Mean
from lmgym.runs.leaderboard.export import mean_json
from lmgym.runs.missing_rates import MissingRate
from lmgym.runs.outcomes import OUTCOME_NAMES
from lmgym.runs.rules import RULE_COUNTS, Rule
from lmgym.runs.run_differences import FACTS
from lmgym.stats.paired import Difference


class LimitField(serializers.FloatField):
    """A limit of a 95% interval; null if there is none."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_null=True, **more)


class SeedsSerializer(serializers.Serializer[Any]):
    """Spread over the seeds of a row; null if the row is one model."""

    seeds = serializers.IntegerField(allow_null=True, help_text="null if the row is one model")
    deviation_between_seeds = serializers.FloatField(allow_null=True)
    range_of_seeds = serializers.ListField(
        child=serializers.FloatField(),
        min_length=2,
        max_length=2,
        allow_null=True,
        help_text="[least, greatest]; null if the row is one model",
    )


class PolicyField(serializers.CharField):
    def __init__(self, **more: Any) -> None:
        super().__init__(
            **more,
            allow_blank=True,
            help_text="“default”, or the differences from it: bos=never, metric=mean; empty if unknown",
        )


class RuleSerializer(RecordSerializer):
    class Meta:
        dataclass = Rule
        fields = ["key", "label", "counts"]


class ColumnSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(
        help_text="key in the rows' `suites`: the slug, or “slug r2” if there are several revisions of the suite"
    )
    slug = serializers.CharField()
    title = serializers.CharField()
    revision = serializers.IntegerField()
    sha256 = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    weight = serializers.FloatField()
    chance = serializers.FloatField(allow_null=True)


class MeanSerializer(SeedsSerializer):
    """Weighted mean over the suites with results."""

    rate = serializers.FloatField()
    low = LimitField()
    high = LimitField()
    suites_run = serializers.IntegerField()
    suites = serializers.IntegerField()
    shared_items_factor = serializers.FloatField(
        allow_null=True,
        help_text="factor by which the standard error is larger because suites share material; the interval includes "
        "it. 1: none shared; null: not computed, the interval assumes independent items",
    )

    def to_representation(self, mean: Mean) -> Any:
        return mean_json(mean)


class BoardCellSerializer(SeedsSerializer, serializers.ModelSerializer[RunScore]):
    run = serializers.CharField(allow_null=True, help_text="null for several seeds")
    rate = serializers.FloatField()
    p_below = serializers.FloatField(allow_null=True, help_text="one-sided, exact")
    p_corrected = serializers.FloatField(
        allow_null=True,
        help_text="`p`, corrected for the `family` of the response; null if that is empty",
    )
    p_below_corrected = serializers.FloatField(allow_null=True)
    against_chance = serializers.ChoiceField(
        [*CHANCE_WORDS, ""],
        help_text=f"by the corrected p if there is a family, else by the exact p; {VERDICT}",
    )
    source = serializers.ChoiceField(SuiteRun.Source.choices)  # type: ignore[assignment]  # a declared field
    policy = PolicyField()
    score_kind = serializers.ChoiceField(
        ["surprisal", "pseudo-log-likelihood", ""],
        help_text="quantity measured by the model's bits; empty for uploads",
    )
    whitespace = serializers.CharField(
        allow_blank=True, help_text="correction of the run's bits: none or trailing; empty for uploads"
    )

    n_words = serializers.IntegerField(
        allow_null=True, help_text="distinct words of the suite's sentences; null: not counted"
    )
    n_unknown_words = serializers.IntegerField(
        allow_null=True, help_text="words among these that the model does not know"
    )
    coverage = serializers.FloatField(allow_null=True, help_text="share of words that the model knows")

    class Meta:
        model = RunScore
        fields = read_only_fields = [
            "run", *RULE_COUNTS, *CHANCE_TEST, "source", "policy", "score_kind", "whitespace", *COVERAGE, "seeds",
            "deviation_between_seeds", "range_of_seeds",
        ]  # fmt: skip


class MissingRateSerializer(serializers.Serializer[Any]):
    """A model without a pass rate on a suite, with the reason."""

    model = serializers.CharField()
    suite = serializers.CharField(help_text="key of the suite")
    why = serializers.CharField(help_text="in words: not run, or how many of the predictions its run has")
    run = serializers.CharField(allow_null=True, help_text="newest run; null if there is none")
    predictions_held = serializers.IntegerField(allow_null=True)
    predictions = serializers.IntegerField(allow_null=True, help_text="of the suite")

    def to_representation(self, gap: MissingRate) -> dict[str, Any]:
        return gap.as_json()


class BoardRowSerializer(serializers.Serializer[Any]):
    """A model on the suites of the response; null for suites without a result."""

    model = serializers.ListField(child=serializers.CharField(), help_text="several if the row groups seeds")
    name = serializers.CharField()
    rank = serializers.IntegerField(
        allow_null=True,
        help_text="rank by SG score; null: not ranked. Models are ranked if they have run every suite of the tag or "
        "collection; if none has, those that have run every suite run by any of them",
    )
    parameters = serializers.IntegerField(allow_null=True)
    perplexity = serializers.FloatField(allow_null=True)
    score = MeanSerializer(allow_null=True, help_text="the SG score")
    tags = serializers.DictField(child=MeanSerializer(allow_null=True))
    suites = serializers.DictField(child=BoardCellSerializer(allow_null=True))
    missing = MissingRateSerializer(
        many=True, help_text="the null entries of `suites`, which are left out of the means"
    )


class BoardSerializer(PageSerializer):
    """A page of a leaderboard; rule, note and suites apply to the rows of all pages."""

    rule = RuleSerializer()
    note = serializers.CharField(help_text="how the numbers were computed, in words")
    family = serializers.CharField(
        help_text="the tests for which p is corrected: one model's results on the suites of the collection or tag, "
        "regardless of filters; empty: not corrected"
    )
    suites = ColumnSerializer(many=True)
    results = BoardRowSerializer(many=True)


class DifferenceSerializer(RecordSerializer):
    """Second − first over the common items. The interval is Newcombe's for pass rates, and from a paired
    bootstrap for margins; null if all differences are equal."""

    class Meta:
        dataclass = Difference
        extra_kwargs = {
            "n": {"help_text": "items"},
            "effect_size_g": {"help_text": "Hedges' g of the differences"},
        }


class RateComparisonSerializer(RecordSerializer):
    """Two pass rates over the items common to both runs."""

    class Meta:
        dataclass = RateComparison


class EquivalenceSerializer(serializers.Serializer[Any]):
    """Equivalence of two pass rates within the bound: Tango's score test at both bounds (TOST)."""

    bound_points = serializers.FloatField()
    p = serializers.FloatField(help_text="a small value means that the rates are equivalent")
    p_corrected = serializers.FloatField(help_text="p, corrected for all pairs of this response")


class RunDifferenceSerializer(serializers.Serializer[Any]):
    """A setting, other than model and revision, in which the runs differ."""

    fact = serializers.ChoiceField(list(FACTS), source="key")
    values = serializers.ListField(
        child=serializers.CharField(allow_null=True), help_text="in the order of the runs; null: no run"
    )


class LeftOutSerializer(serializers.Serializer[Any]):
    """A prediction of one revision that is not compared, since the other revision lacks its formula."""

    revision = serializers.IntegerField()
    prediction_number = serializers.IntegerField(source="number", help_text="from 1")
    prediction = serializers.CharField(source="name", allow_blank=True)
    formula = serializers.CharField()
    why = serializers.CharField()


class NamedModelSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(source="slug")
    name = serializers.CharField()


class RateSerializer(serializers.Serializer[Any]):
    run = serializers.CharField(source="run.key")
    rate = serializers.FloatField(allow_null=True)
    low = LimitField(source="scored.score.low")
    high = LimitField(source="scored.score.high")
    n = serializers.IntegerField(source="scored.score.n", help_text="items")


class AgainstBaselineSerializer(serializers.Serializer[Any]):
    rate = RateComparisonSerializer()


class ComparedSuiteSerializer(serializers.Serializer[Any]):
    """A suite: the rate of each model, and each model compared with the baseline."""

    suite = serializers.CharField(source="revision.suite.slug")
    title = serializers.CharField(source="revision.suite.title")
    revision = serializers.IntegerField(source="revision.number")
    sha256 = serializers.CharField(source="revision.sha256")
    rates = serializers.ListField(
        source="sides",
        child=RateSerializer(allow_null=True),
        help_text="in the order of models; null: not run",
    )
    against_baseline = serializers.ListField(
        source="pairs",
        child=AgainstBaselineSerializer(allow_null=True),
        help_text="for each model after the first; null unless both have results",
    )
    unlike = RunDifferenceSerializer(many=True)


class TotalSerializer(NamedModelSerializer):
    model = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    difference = DifferenceSerializer(
        help_text="difference of the SG scores over the suites that both have run"
    )
    suites_both = serializers.IntegerField(source="n_suites")
    shared_items_factor = serializers.FloatField(
        help_text="factor by which the standard error of the difference is larger because suites share material; the "
        "interval includes it"
    )


class ComparedModelsHead(serializers.Serializer[Any]):
    rule = RuleSerializer()
    note = serializers.CharField()
    correction = serializers.CharField(help_text="name of the correction for multiple comparisons")
    models = NamedModelSerializer(many=True, help_text="the baseline first")
    totals = TotalSerializer(many=True, help_text="for the other models, over all pages")
    missing = MissingRateSerializer(
        many=True, help_text="missing pass rates on suites that one of the models has run, over all pages"
    )


class ComparedModelsSerializer(ComparedModelsHead, PageSerializer):
    results = ComparedSuiteSerializer(many=True)


class SideSerializer(RateSerializer):
    model = serializers.CharField(source="run.model.slug")
    name = serializers.CharField(source="run.model.name")
    label = serializers.CharField()  # type: ignore[assignment]  # a declared field
    revision = serializers.IntegerField(source="run.revision.number")
    score_kind = serializers.CharField(
        source="run.score_kind",
        help_text="quantity measured by its bits: surprisal or a pseudo-log-likelihood",
    )
    chance = serializers.FloatField(source="scored.score.chance", allow_null=True)
    p = serializers.FloatField(source="scored.score.p", allow_null=True)
    p_below = BelowField(source="scored.verdict.p_below")
    against_chance = VerdictField(
        source="scored.verdict.against_chance", help_text=f"by the exact p, {VERDICT}"
    )
    policy = serializers.DictField(source="run.policy", help_text="scoring policy of the run")


class PairSerializer(serializers.Serializer[Any]):
    """A pair of runs; `first` and `second` are indices into `sides`."""

    first = serializers.SerializerMethodField()
    second = serializers.SerializerMethodField()
    rate = RateComparisonSerializer()
    equivalence = EquivalenceSerializer(
        allow_null=True,
        help_text="null without `bound`, or if items count with the share of predictions that hold",
    )
    margin = DifferenceSerializer(
        allow_null=True, help_text="in bits; null if the bits of the two runs are different quantities"
    )
    margin_is_skewed = serializers.BooleanField(
        help_text="the differences are skewed and few: the interval may be inaccurate"
    )

    def get_first(self, pair: Pair[RunSide]) -> int:
        return int(self.context["sides"].index(pair.first))

    def get_second(self, pair: Pair[RunSide]) -> int:
        return int(self.context["sides"].index(pair.second))


class ComparisonSerializer(serializers.Serializer[Any]):
    suite = serializers.CharField(source="suite.slug")
    title = serializers.CharField(source="suite.title")
    rule = RuleSerializer()
    note = serializers.CharField()
    correction = serializers.CharField()
    sides = SideSerializer(source="comparison.sides", many=True)
    unlike = RunDifferenceSerializer(source="comparison.unlike", many=True)
    not_compared = LeftOutSerializer(
        source="comparison.not_compared",
        many=True,
        help_text="predictions of two revisions that could not be paired by formula",
    )
    not_run = serializers.ListField(source="comparison.not_run", child=serializers.CharField())
    missing = MissingRateSerializer(
        source="comparison.gaps", many=True, help_text="runs without a pass rate under the rule"
    )
    pairs = PairSerializer(source="comparison.pairs", many=True)
    n_items = serializers.IntegerField(source="comparison.n_items")
    n_differ = serializers.IntegerField(source="comparison.n_differ")


class OutcomeField(serializers.CharField):
    def to_representation(self, code: Any) -> str:
        return OUTCOME_NAMES[code]


class ComparedItemSideSerializer(serializers.Serializer[Any]):
    outcomes = serializers.ListField(
        source="codes",
        child=OutcomeField(),
        help_text="one per prediction; for two revisions, one per common prediction, in the order of the older",
    )
    counts = serializers.FloatField(
        allow_null=True,
        help_text="value of the item under the rule, 0..1; null if two revisions have no prediction in common",
    )
    margin = serializers.FloatField(allow_null=True, help_text="bits")


class ComparedItemSerializer(serializers.Serializer[Any]):
    item = serializers.IntegerField()
    differs = serializers.BooleanField()
    sides = serializers.ListField(
        source="cells",
        child=ComparedItemSideSerializer(allow_null=True),
        help_text="null: the revision has no such item",
    )


class ComparedItemsHead(serializers.Serializer[Any]):
    rule = RuleSerializer()
    sides = SideSerializer(many=True)
    unlike = RunDifferenceSerializer(many=True)
    not_compared = LeftOutSerializer(
        many=True, help_text="predictions of two revisions that could not be paired by formula"
    )


class ComparedItemsSerializer(ComparedItemsHead, PageSerializer):
    results = ComparedItemSerializer(many=True)
