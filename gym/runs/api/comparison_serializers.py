"""What the operations about results answer. Rates are 0..1; intervals are 95%, and their limits null where there are
none."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.runs.api.query_parameters import PageSerializer
from gym.runs.api.serializers import VERDICT, BelowField, VerdictField
from gym.runs.models import RunScore
from gym.runs.read.comparison import RunSide
from lmgym.runs.against_chance import CHANCE_TEST, CHANCE_WORDS
from lmgym.runs.comparison import Pair
from lmgym.runs.coverage import COVERAGE
from lmgym.runs.leaderboard.board import Mean
from lmgym.runs.leaderboard.export import mean_json
from lmgym.runs.missing_rates import MissingRate
from lmgym.runs.outcomes import OUTCOME_NAMES
from lmgym.runs.rules import RULE_COUNTS
from lmgym.runs.run_differences import FACTS


class LimitField(serializers.FloatField):
    """A limit of a 95% interval; null where there is none."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_null=True, **more)


class SeedsSerializer(serializers.Serializer[Any]):
    """Of rows that stand for several seeds; null where the row is one model."""

    seeds = serializers.IntegerField(allow_null=True, help_text="null where the row is one model")
    deviation_between_seeds = serializers.FloatField(allow_null=True)
    range_of_seeds = serializers.ListField(
        child=serializers.FloatField(),
        min_length=2,
        max_length=2,
        allow_null=True,
        help_text="[least, greatest]; null where the row is one model",
    )


class PolicyField(serializers.CharField):
    def __init__(self, **more: Any) -> None:
        super().__init__(
            **more,
            allow_blank=True,
            help_text="“default”, or what the run has otherwise: bos=never, metric=mean; empty where it is not known",
        )


class RuleSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a declared field
    counts = serializers.CharField()


class ColumnSerializer(serializers.Serializer[Any]):
    key = serializers.CharField(help_text="of the rows' `suites`: slug, or “slug r2” beside another revision")
    slug = serializers.CharField()
    title = serializers.CharField()
    revision = serializers.IntegerField()
    sha256 = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    weight = serializers.FloatField()
    chance = serializers.FloatField(allow_null=True)


class MeanSerializer(SeedsSerializer):
    """Weighted mean over the suites that were run."""

    rate = serializers.FloatField()
    low = LimitField()
    high = LimitField()
    suites_run = serializers.IntegerField()
    suites = serializers.IntegerField()
    shared_items_factor = serializers.FloatField(
        allow_null=True,
        help_text="how many times as large the standard error is because suites share material; the interval includes "
        "it. 1: they share none; null: not computed, the interval assumes independent items",
    )

    def to_representation(self, mean: Mean) -> Any:
        return mean_json(mean)


class BoardCellSerializer(SeedsSerializer, serializers.ModelSerializer[RunScore]):
    run = serializers.CharField(allow_null=True, help_text="null for several seeds")
    rate = serializers.FloatField()
    p_below = serializers.FloatField(allow_null=True, help_text="one-sided, exact")
    p_corrected = serializers.FloatField(
        allow_null=True,
        help_text="`p`, corrected for `family` of the head; null where that is empty",
    )
    p_below_corrected = serializers.FloatField(allow_null=True)
    against_chance = serializers.ChoiceField(
        [*CHANCE_WORDS, ""],
        help_text=f"by the corrected p if there is a family, else by the exact p, {VERDICT}",
    )
    source = serializers.ChoiceField(["computed", "uploaded"])  # type: ignore[assignment]  # a declared field
    policy = PolicyField()
    score_kind = serializers.ChoiceField(
        ["surprisal", "pseudo-log-likelihood", ""],
        help_text="what the model's bits are; empty for uploads, which do not say",
    )
    whitespace = serializers.CharField(
        allow_blank=True, help_text="none or trailing: the correction of the run's bits; empty for uploads"
    )

    n_words = serializers.IntegerField(
        allow_null=True, help_text="different words of the suite's sentences; null: not counted"
    )
    n_unknown_words = serializers.IntegerField(
        allow_null=True, help_text="of these, words the model does not know"
    )
    coverage = serializers.FloatField(allow_null=True, help_text="share of words that the model knows")

    class Meta:
        model = RunScore
        fields = read_only_fields = [
            "run", *RULE_COUNTS, *CHANCE_TEST, "source", "policy", "score_kind", "whitespace", *COVERAGE, "seeds",
            "deviation_between_seeds", "range_of_seeds",
        ]  # fmt: skip


class MissingRateSerializer(serializers.Serializer[Any]):
    """A model without a pass rate on a suite, and why."""

    model = serializers.CharField()
    suite = serializers.CharField(help_text="its key")
    why = serializers.CharField(help_text="in words: not run, or what its results hold")
    run = serializers.CharField(allow_null=True, help_text="the one that counts; null where there is none")
    predictions_held = serializers.IntegerField(allow_null=True)
    predictions = serializers.IntegerField(allow_null=True, help_text="of the suite")

    def to_representation(self, gap: MissingRate) -> dict[str, Any]:
        return gap.as_json()


class BoardRowSerializer(serializers.Serializer[Any]):
    """A model on the suites of the head; null where it has not run one."""

    model = serializers.ListField(child=serializers.CharField(), help_text="several for seeds of one model")
    name = serializers.CharField()
    rank = serializers.IntegerField(
        allow_null=True,
        help_text="by SG score among the models that have run every suite of the tag or collection, or else every "
        "suite that any of them has; null: not ranked",
    )
    parameters = serializers.IntegerField(allow_null=True)
    perplexity = serializers.FloatField(allow_null=True)
    score = MeanSerializer(allow_null=True, help_text="the SG score")
    tags = serializers.DictField(child=MeanSerializer(allow_null=True))
    suites = serializers.DictField(child=BoardCellSerializer(allow_null=True))
    missing = MissingRateSerializer(many=True, help_text="what is null in `suites`, and so not in the means")


class BoardSerializer(PageSerializer):
    """Rule, note and suites hold for the rows of all pages."""

    rule = RuleSerializer()
    note = serializers.CharField(help_text="how the numbers were made, in words")
    family = serializers.CharField(
        help_text="what p values are corrected for: one model's results on the suites of the collection or tag, "
        "whatever is filtered; empty: they are not"
    )
    suites = ColumnSerializer(many=True)
    results = BoardRowSerializer(many=True)


class DifferenceSerializer(serializers.Serializer[Any]):
    """Second − first over the items both have. The interval of SG scores is Newcombe's; that of margins is a paired
    bootstrap, null when all items are alike."""

    n = serializers.IntegerField(help_text="items")
    mean = serializers.FloatField(allow_null=True)
    low = LimitField()
    high = LimitField()
    effect_size_g = serializers.FloatField(allow_null=True, help_text="Hedges' g of the differences")


class RateComparisonSerializer(serializers.Serializer[Any]):
    """Two pass rates over the items that both runs have: a row of `lmgym.runs.comparison.RateComparison`."""

    first = serializers.CharField(help_text="label of the first run")
    second = serializers.CharField(help_text="label of the second run")
    measure = serializers.CharField()
    n = serializers.IntegerField(help_text="items")
    first_value = serializers.FloatField(allow_null=True)
    second_value = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(allow_null=True, help_text="second_value − first_value")
    low = LimitField(help_text="of the difference, by Newcombe")
    high = LimitField()
    only_first = serializers.IntegerField(
        help_text="items that only the first gets right, or of which it gets the greater share"
    )
    only_second = serializers.IntegerField()
    test = serializers.ChoiceField(
        ["mcnemar", "sign"],
        help_text="McNemar's test; the sign test on shares where items count with the share of several predictions",
    )
    p = serializers.FloatField(help_text="exact, two-sided")
    p_corrected = serializers.FloatField(help_text="for all comparisons of this answer")
    correction = serializers.CharField()
    note = serializers.CharField(allow_blank=True)
    effect_size_g = serializers.FloatField(allow_null=True, help_text="Hedges' g of the differences")


class EquivalenceSerializer(serializers.Serializer[Any]):
    """Whether two pass rates differ by less than the bound: Tango's score test at both bounds (TOST)."""

    bound_points = serializers.FloatField()
    p = serializers.FloatField(help_text="small: they do")
    p_corrected = serializers.FloatField(help_text="for all pairs of this answer")


class RunDifferenceSerializer(serializers.Serializer[Any]):
    """A fact besides model and revision in which the runs differ."""

    fact = serializers.ChoiceField(list(FACTS), source="key")
    values = serializers.ListField(
        child=serializers.CharField(allow_null=True), help_text="in the order of the runs; null: no run"
    )


class LeftOutSerializer(serializers.Serializer[Any]):
    """A prediction of one of two revisions that is left out of the differences: the other has none with its formula."""

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
    """One suite: a rate per model, and every other model against the baseline."""

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
        help_text="of the models after the first; null unless both have run it",
    )
    unlike = RunDifferenceSerializer(many=True)


class TotalSerializer(NamedModelSerializer):
    model = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    difference = DifferenceSerializer(help_text="of the SG scores, over the suites both have run")
    suites_both = serializers.IntegerField(source="n_suites")
    shared_items_factor = serializers.FloatField(
        help_text="how many times as large the standard error of the difference is because suites share material; the "
        "interval includes it"
    )


class ComparedModelsHead(serializers.Serializer[Any]):
    rule = RuleSerializer()
    note = serializers.CharField()
    correction = serializers.CharField(help_text="for many comparisons, by name")
    models = NamedModelSerializer(many=True, help_text="the baseline first")
    totals = TotalSerializer(many=True, help_text="of the other models, over all pages")
    missing = MissingRateSerializer(
        many=True, help_text="of suites that one of the models has run, over all pages: no pass rate"
    )


class ComparedModelsSerializer(ComparedModelsHead, PageSerializer):
    results = ComparedSuiteSerializer(many=True)


class SideSerializer(RateSerializer):
    model = serializers.CharField(source="run.model.slug")
    name = serializers.CharField(source="run.model.name")
    label = serializers.CharField()  # type: ignore[assignment]  # a declared field
    revision = serializers.IntegerField(source="run.revision.number")
    score_kind = serializers.CharField(
        source="run.score_kind", help_text="what its bits are: surprisal or a pseudo-log-likelihood"
    )
    chance = serializers.FloatField(source="scored.score.chance", allow_null=True)
    p = serializers.FloatField(source="scored.score.p", allow_null=True)
    p_below = BelowField(source="scored.verdict.p_below")
    against_chance = VerdictField(
        source="scored.verdict.against_chance", help_text=f"by the exact p, {VERDICT}"
    )
    policy = serializers.DictField(source="run.policy", help_text="how its sentences were scored")


class PairSerializer(serializers.Serializer[Any]):
    """`first` and `second` are places in `sides`."""

    first = serializers.SerializerMethodField()
    second = serializers.SerializerMethodField()
    rate = RateComparisonSerializer()
    equivalence = EquivalenceSerializer(
        allow_null=True,
        help_text="null without `bound`, and where items count with the share of several predictions",
    )
    margin = DifferenceSerializer(
        allow_null=True, help_text="bits; null where the bits of the two are not the same quantity"
    )
    margin_is_skewed = serializers.BooleanField(
        help_text="the margins' differences are skewed and few: read the interval with care"
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
    sides = SideSerializer(source="found.sides", many=True)
    unlike = RunDifferenceSerializer(source="found.unlike", many=True)
    not_compared = LeftOutSerializer(
        source="found.not_compared", many=True, help_text="predictions of two revisions, paired by formula"
    )
    not_run = serializers.ListField(source="found.not_run", child=serializers.CharField())
    missing = MissingRateSerializer(
        source="found.gaps", many=True, help_text="runs without a pass rate under the rule"
    )
    pairs = PairSerializer(source="found.pairs", many=True)
    n_items = serializers.IntegerField(source="found.n_items")
    n_differ = serializers.IntegerField(source="found.n_differ")


class OutcomeField(serializers.CharField):
    def to_representation(self, code: Any) -> str:
        return OUTCOME_NAMES[code]


class ComparedItemSideSerializer(serializers.Serializer[Any]):
    outcomes = serializers.ListField(
        source="codes",
        child=OutcomeField(),
        help_text="one per prediction; of two revisions one per prediction that both have, in the older one's order",
    )
    counts = serializers.FloatField(
        allow_null=True,
        help_text="what the item counts under the rule, 0..1; null where two revisions have no prediction in common",
    )
    margin = serializers.FloatField(allow_null=True, help_text="bits")


class ComparedItemSerializer(serializers.Serializer[Any]):
    item = serializers.IntegerField()
    differs = serializers.BooleanField()
    sides = serializers.ListField(
        source="cells",
        child=ComparedItemSideSerializer(allow_null=True),
        help_text="null: no such item in that revision",
    )


class ComparedItemsHead(serializers.Serializer[Any]):
    rule = RuleSerializer()
    sides = SideSerializer(many=True)
    unlike = RunDifferenceSerializer(many=True)
    not_compared = LeftOutSerializer(many=True, help_text="predictions of two revisions, paired by formula")


class ComparedItemsSerializer(ComparedItemsHead, PageSerializer):
    results = ComparedItemSerializer(many=True)


class TagRowSerializer(serializers.Serializer[Any]):
    tag = serializers.CharField()
    mean = MeanSerializer()
    others_mean = serializers.FloatField(source="field", allow_null=True)
    others = serializers.IntegerField(source="n")


class AgainstFieldSerializer(serializers.Serializer[Any]):
    suite = serializers.CharField(source="revision.suite.slug")
    revision = serializers.IntegerField(source="revision.number")
    run = serializers.CharField(source="cell.run")
    rate = serializers.FloatField()
    low = LimitField(source="cell.low")
    high = LimitField(source="cell.high")
    n = serializers.IntegerField(source="cell.n", help_text="items")
    chance = serializers.FloatField(source="cell.chance", allow_null=True)
    p = serializers.FloatField(source="cell.p", allow_null=True)
    p_below = BelowField(source="cell.verdict.p_below")
    against_chance = VerdictField(
        source="cell.verdict.against_chance", help_text=f"by the exact p, {VERDICT}"
    )
    policy = PolicyField(source="cell.policy_text")
    others_mean = serializers.FloatField(source="field")
    others = serializers.IntegerField(source="n")
    difference = serializers.FloatField()
    rank = serializers.IntegerField()


class RobustPairSerializer(serializers.Serializer[Any]):
    plain = serializers.CharField(source="plain.key")
    modified = serializers.CharField(source="modified.key")
    without_n = serializers.IntegerField(source="before.n", help_text="items")
    without_rate = serializers.FloatField(source="change.without")
    without_low = LimitField(source="change.without_interval.low")
    without_high = LimitField(source="change.without_interval.high")
    with_n = serializers.IntegerField(source="after.n", help_text="items")
    with_rate = serializers.FloatField(source="change.with_modifier")
    with_low = LimitField(source="change.with_interval.low")
    with_high = LimitField(source="change.with_interval.high")
    difference = serializers.FloatField(source="change.difference")
    low = LimitField(
        source="change.difference_interval.low",
        help_text="of the difference, by Newcombe: two suites with items of their own",
    )
    high = LimitField(source="change.difference_interval.high")


class CheckpointSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(source="row.model.slug")
    name = serializers.CharField(source="row.name")
    step = serializers.FloatField()
    score = MeanSerializer(source="row.score", allow_null=True)


class FieldModelSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(source="model.slug")
    name = serializers.CharField()
    parameters = serializers.IntegerField(source="model.parameters", allow_null=True)
    perplexity = serializers.FloatField(source="model.perplexity", allow_null=True)
    score = MeanSerializer(allow_null=True)


class ProfileSerializer(serializers.Serializer[Any]):
    model = serializers.CharField(source="model.slug")
    name = serializers.CharField(source="model.name")
    rule = RuleSerializer()
    note = serializers.CharField()
    score = MeanSerializer(allow_null=True)
    missing = MissingRateSerializer(many=True, help_text="suites that are not in the score")
    tags = TagRowSerializer(many=True)
    suites = AgainstFieldSerializer(many=True, help_text="that others have run too, greatest advantage first")
    strengths = serializers.ListField(child=serializers.CharField())
    weaknesses = serializers.ListField(child=serializers.CharField())
    pairs = RobustPairSerializer(many=True)
    checkpoints = CheckpointSerializer(many=True)
    field = FieldModelSerializer(many=True, help_text="all models, for score against size and perplexity")
