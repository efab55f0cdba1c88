"""Response bodies for leaderboards and comparisons.

Rates are 0..1; intervals are 95%, with null limits if there is no interval.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.api.records import RecordSerializer
from gym.runs.api.query_parameters import PageSerializer
from gym.runs.api.serializers import VERDICT, BelowField, VerdictField
from gym.runs.models import SuiteRun
from gym.runs.read.comparison import RunSide, Total
from lmgym.runs.against_chance import CHANCE_WORDS
from lmgym.runs.comparison import Equivalence, ItemRow, ItemSide, Pair, RateComparison
from lmgym.runs.leaderboard.records import BoardCell, BoardMean, BoardSuite
from lmgym.runs.missing_rates import MISSING, MissingRate
from lmgym.runs.paired_predictions import UnpairedPrediction
from lmgym.runs.rules import Rule
from lmgym.runs.run_differences import FACTS, RunDifference
from lmgym.stats.paired import Difference
from lmgym.suites.formulas import OUTCOME_NAMES


class LimitField(serializers.FloatField):
    """A limit of a 95% interval; null if there is none."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_null=True, **more)


class RuleSerializer(RecordSerializer):
    class Meta:
        dataclass = Rule
        fields = ["key", "label", "counts"]


class BoardSuiteSerializer(RecordSerializer):
    class Meta:
        dataclass = BoardSuite


SEEDS_RANGE = {"range_of_seeds": {"min_length": 2, "max_length": 2}}


class BoardMeanSerializer(RecordSerializer):
    """Weighted mean over the suites with results."""

    class Meta:
        dataclass = BoardMean
        extra_kwargs = SEEDS_RANGE


class BoardCellSerializer(RecordSerializer):
    against_chance = serializers.ChoiceField(
        [*CHANCE_WORDS, ""],
        help_text=f"by the corrected p if there is a family, else by the exact p; {VERDICT}",
    )
    source = serializers.ChoiceField(SuiteRun.Source.choices)  # type: ignore[assignment]  # a declared field
    score_kind = serializers.ChoiceField(
        ["surprisal", "pseudo-log-likelihood", ""],
        help_text="quantity measured by the model's bits; empty for uploads",
    )

    class Meta:
        dataclass = BoardCell
        extra_kwargs = SEEDS_RANGE


class MissingRateSerializer(RecordSerializer):
    """A model without a pass rate on a suite, with the reason."""

    why = serializers.CharField(
        help_text="reason in words: not run, or how many of the predictions the run has"
    )

    class Meta:
        dataclass = MissingRate
        fields = MISSING


class BoardRowSerializer(serializers.Serializer[Any]):
    """A model on the suites of the response; null for suites without a result."""

    model = serializers.ListField(child=serializers.CharField(), help_text="several if the row groups seeds")
    name = serializers.CharField()
    rank = serializers.IntegerField(
        allow_null=True,
        help_text="rank by SG score; null: not ranked. A model is ranked if it has run every suite of the tag or "
        "collection or, without either, every suite that any model has run (suites of weight 0 do not count)",
    )
    parameters = serializers.IntegerField(allow_null=True)
    perplexity = serializers.FloatField(allow_null=True)
    score = BoardMeanSerializer(allow_null=True, help_text="the SG score")
    tags = serializers.DictField(child=BoardMeanSerializer(allow_null=True))
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
    suites = BoardSuiteSerializer(many=True)
    results = BoardRowSerializer(many=True)


class DifferenceSerializer(RecordSerializer):
    """Second − first over the common items. The interval is Newcombe's for pass rates, and from a paired bootstrap for
    margins, whose limits are null for fewer than two items or equal differences."""

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


class EquivalenceSerializer(RecordSerializer):
    """Equivalence of two pass rates within the bound: Tango's score test at both bounds (TOST)."""

    bound_points = serializers.FloatField()

    class Meta:
        dataclass = Equivalence
        fields = ["bound_points", "p", "p_corrected"]


class RunDifferenceSerializer(RecordSerializer):
    """A setting, other than model and revision, in which the runs differ."""

    fact = serializers.ChoiceField(list(FACTS))

    class Meta:
        dataclass = RunDifference


class LeftOutSerializer(RecordSerializer):
    """A prediction of one revision that is not compared, since the other revision lacks its formula."""

    class Meta:
        dataclass = UnpairedPrediction


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


class TotalSerializer(RecordSerializer):
    model = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    difference = DifferenceSerializer(
        help_text="difference of the SG scores over the suites that both have run"
    )

    class Meta:
        dataclass = Total


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
        help_text="quantity that the run's bits measure: surprisal or a pseudo-log-likelihood",
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


class ItemSideSerializer(RecordSerializer):
    outcomes = serializers.ListField(
        child=serializers.ChoiceField(OUTCOME_NAMES),
        help_text="one per prediction; for two revisions, one per common prediction, in the older one's order",
    )

    class Meta:
        dataclass = ItemSide
        ref_name = "ComparedItemSide"
        fields = ["outcomes", "counts", "margin"]


class ComparedItemSerializer(RecordSerializer):
    sides = serializers.ListField(
        child=ItemSideSerializer(allow_null=True), help_text="null: the revision has no such item"
    )

    class Meta:
        dataclass = ItemRow
        ref_name = "ComparedItem"


class ComparedItemsHead(serializers.Serializer[Any]):
    rule = RuleSerializer()
    sides = SideSerializer(many=True)
    unlike = RunDifferenceSerializer(many=True)
    not_compared = LeftOutSerializer(
        many=True, help_text="predictions of two revisions that could not be paired by formula"
    )


class ComparedItemsSerializer(ComparedItemsHead, PageSerializer):
    results = ComparedItemSerializer(many=True)
