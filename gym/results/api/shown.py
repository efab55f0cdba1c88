"""What the operations about results answer. Rates are 0..1; a 95% interval is a list of two, or null without one."""

from __future__ import annotations

from rest_framework import serializers

from gym.results.alike import FACTS
from gym.results.api.paging import PageSerializer


class LimitsField(serializers.ListField):
    def __init__(self, help_text: str = "[low, high], 95%; null where there is none") -> None:
        super().__init__(
            child=serializers.FloatField(), min_length=2, max_length=2, allow_null=True, help_text=help_text
        )


class PolicyField(serializers.CharField):
    def __init__(self) -> None:
        super().__init__(
            allow_blank=True,
            help_text="“default”, or what the run has otherwise: bos=never, metric=mean; empty where it is not known",
        )


class RuleSerializer(serializers.Serializer):
    key = serializers.CharField()
    label = serializers.CharField()
    counts = serializers.CharField()


class ColumnSerializer(serializers.Serializer):
    key = serializers.CharField(help_text="of the rows' `suites`: slug, or “slug r2” beside another revision")
    slug = serializers.CharField()
    title = serializers.CharField()
    revision = serializers.IntegerField()
    sha256 = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    weight = serializers.FloatField()
    chance = serializers.FloatField(allow_null=True)


class MeanSerializer(serializers.Serializer):
    """Weighted mean over the suites that were run."""

    rate = serializers.FloatField()
    interval = LimitsField()
    suites_run = serializers.IntegerField()
    suites = serializers.IntegerField()
    seeds = serializers.IntegerField(allow_null=True, help_text="null where the row is one model")
    deviation_between_seeds = serializers.FloatField(allow_null=True)
    range_of_seeds = LimitsField("[least, greatest]; null where the row is one model")


class BoardCellSerializer(serializers.Serializer):
    run = serializers.CharField(allow_null=True, help_text="null for several seeds")
    rate = serializers.FloatField()
    interval = LimitsField()
    passed = serializers.IntegerField()
    judged = serializers.IntegerField()
    n_items = serializers.IntegerField()
    chance = serializers.FloatField(allow_null=True)
    p_above_chance_uncorrected = serializers.FloatField(allow_null=True, help_text="one-sided")
    p_holm = serializers.FloatField(
        allow_null=True, help_text="the same, corrected for all cells of this leaderboard"
    )
    ties = serializers.IntegerField()
    too_close = serializers.IntegerField(help_text="outcomes within numeric noise of a tie")
    not_evaluable = serializers.IntegerField()
    source = serializers.ChoiceField(["computed", "uploaded"])
    policy = PolicyField()
    score_kind = serializers.ChoiceField(
        ["surprisal", "pseudo-log-likelihood", ""],
        help_text="what the model's bits are; empty for uploads, which do not say",
    )
    seeds = serializers.IntegerField(allow_null=True)
    deviation_between_seeds = serializers.FloatField(allow_null=True)
    range_of_seeds = LimitsField("[least, greatest]; null where the row is one model")


class GapSerializer(serializers.Serializer):
    """A model without a pass rate on a suite, and why."""

    model = serializers.CharField()
    suite = serializers.CharField(help_text="its key")
    why = serializers.CharField(help_text="in words: not run, or what its results hold")
    run = serializers.CharField(allow_null=True, help_text="the one that counts; null where there is none")
    predictions_held = serializers.IntegerField(allow_null=True)
    predictions = serializers.IntegerField(allow_null=True, help_text="of the suite")


class BoardRowSerializer(serializers.Serializer):
    """A model on the suites of the head; null where it has not run one."""

    model = serializers.ListField(child=serializers.CharField(), help_text="several for seeds of one model")
    name = serializers.CharField()
    parameters = serializers.IntegerField(allow_null=True)
    perplexity = serializers.FloatField(allow_null=True)
    score = MeanSerializer(allow_null=True, help_text="the SG score")
    tags = serializers.DictField(child=MeanSerializer(allow_null=True))
    suites = serializers.DictField(child=BoardCellSerializer(allow_null=True))
    missing = GapSerializer(many=True, help_text="what is null in `suites`, and so not in the means")


class BoardSerializer(PageSerializer):
    """Rule, note and suites hold for the rows of all pages."""

    rule = RuleSerializer()
    note = serializers.CharField(help_text="how the numbers were made, in words")
    suites = ColumnSerializer(many=True)
    results = BoardRowSerializer(many=True)


class DifferenceSerializer(serializers.Serializer):
    """Second less first over the `n` items that both have; the interval by paired bootstrap."""

    n = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    interval = LimitsField("[low, high], 95%; null when all items are alike")
    effect = serializers.FloatField(allow_null=True, help_text="Hedges' g of the differences")


class TestSerializer(serializers.Serializer):
    """Exact and two-sided."""

    method = serializers.ChoiceField(
        ["mcnemar", "sign"],
        help_text="McNemar's test; the sign test on shares where items count with the share of several predictions",
    )
    only_first = serializers.IntegerField(
        help_text="items that only the first gets right, or of which it gets the greater share"
    )
    only_second = serializers.IntegerField()
    p = serializers.FloatField()
    p_corrected = serializers.FloatField(help_text="for all comparisons of this answer")


class UnlikeSerializer(serializers.Serializer):
    """A fact besides model and revision in which the runs differ."""

    fact = serializers.ChoiceField(list(FACTS))
    values = serializers.ListField(
        child=serializers.CharField(allow_null=True), help_text="in the order of the runs; null: no run"
    )


class NamedModelSerializer(serializers.Serializer):
    model = serializers.CharField()
    name = serializers.CharField()


class RateSerializer(serializers.Serializer):
    run = serializers.CharField()
    rate = serializers.FloatField(allow_null=True)
    interval = LimitsField()
    n_items = serializers.IntegerField()


class AgainstBaselineSerializer(serializers.Serializer):
    difference = DifferenceSerializer()
    test = TestSerializer()


class ComparedSuiteSerializer(serializers.Serializer):
    """One suite: a rate per model, and every other model against the baseline."""

    suite = serializers.CharField()
    title = serializers.CharField()
    revision = serializers.IntegerField()
    sha256 = serializers.CharField()
    rates = serializers.ListField(
        child=RateSerializer(allow_null=True), help_text="in the order of models; null: not run"
    )
    against_baseline = serializers.ListField(
        child=AgainstBaselineSerializer(allow_null=True),
        help_text="of the models after the first; null unless both have run it",
    )
    unlike = UnlikeSerializer(many=True)


class TotalSerializer(NamedModelSerializer):
    difference = DifferenceSerializer(help_text="of the SG scores, over the suites both have run")
    suites_both = serializers.IntegerField()


class ComparedModelsSerializer(PageSerializer):
    rule = RuleSerializer()
    note = serializers.CharField()
    correction = serializers.CharField(help_text="for many comparisons, by name")
    models = NamedModelSerializer(many=True, help_text="the baseline first")
    totals = TotalSerializer(many=True, help_text="of the other models, over all pages")
    missing = GapSerializer(
        many=True, help_text="of suites that one of the models has run, over all pages: no pass rate"
    )
    results = ComparedSuiteSerializer(many=True)


class SideSerializer(NamedModelSerializer):
    label = serializers.CharField()
    revision = serializers.IntegerField()
    run = serializers.CharField()
    rate = serializers.FloatField(allow_null=True)
    interval = LimitsField()
    n_items = serializers.IntegerField()
    score_kind = serializers.CharField(help_text="what its bits are: surprisal or a pseudo-log-likelihood")
    policy = serializers.DictField(help_text="how its sentences were scored")


class PairSerializer(serializers.Serializer):
    """`first` and `second` are places in `sides`."""

    first = serializers.IntegerField()
    second = serializers.IntegerField()
    rate = DifferenceSerializer()
    test = TestSerializer()
    margin = DifferenceSerializer(
        allow_null=True, help_text="bits; null where the bits of the two are not the same quantity"
    )


class ComparisonSerializer(serializers.Serializer):
    suite = serializers.CharField()
    title = serializers.CharField()
    rule = RuleSerializer()
    note = serializers.CharField()
    correction = serializers.CharField()
    sides = SideSerializer(many=True)
    unlike = UnlikeSerializer(many=True)
    not_run = serializers.ListField(child=serializers.CharField())
    missing = GapSerializer(many=True, help_text="runs without a pass rate under the rule")
    pairs = PairSerializer(many=True)
    n_items = serializers.IntegerField()
    n_differ = serializers.IntegerField()


class ComparedItemSideSerializer(serializers.Serializer):
    outcomes = serializers.ListField(child=serializers.CharField(), help_text="one per prediction")
    counts = serializers.FloatField(help_text="what the item counts under the rule, 0..1")
    margin_bits = serializers.FloatField(allow_null=True)


class ComparedItemSerializer(serializers.Serializer):
    item = serializers.IntegerField()
    differs = serializers.BooleanField()
    sides = serializers.ListField(
        child=ComparedItemSideSerializer(allow_null=True), help_text="null: no such item in that revision"
    )


class ComparedItemsSerializer(PageSerializer):
    rule = RuleSerializer()
    sides = SideSerializer(many=True)
    unlike = UnlikeSerializer(many=True)
    results = ComparedItemSerializer(many=True)


class TagRowSerializer(serializers.Serializer):
    tag = serializers.CharField()
    mean = MeanSerializer()
    others_mean = serializers.FloatField(allow_null=True)
    others = serializers.IntegerField()


class AgainstFieldSerializer(serializers.Serializer):
    suite = serializers.CharField()
    revision = serializers.IntegerField()
    run = serializers.CharField()
    rate = serializers.FloatField()
    interval = LimitsField()
    n_items = serializers.IntegerField()
    chance = serializers.FloatField(allow_null=True)
    policy = PolicyField()
    others_mean = serializers.FloatField()
    others = serializers.IntegerField()
    difference = serializers.FloatField()
    rank = serializers.IntegerField()


class RobustPairSerializer(serializers.Serializer):
    plain = serializers.CharField()
    modified = serializers.CharField()
    without = serializers.FloatField()
    without_interval = LimitsField()
    items_without = serializers.IntegerField()
    with_modifier = serializers.FloatField()
    with_interval = LimitsField()
    items_with = serializers.IntegerField()
    difference = serializers.FloatField()
    difference_interval = LimitsField("[low, high], 95%, by Newcombe: two suites with items of their own")


class CheckpointSerializer(NamedModelSerializer):
    step = serializers.FloatField()
    score = MeanSerializer(allow_null=True)


class FieldModelSerializer(NamedModelSerializer):
    parameters = serializers.IntegerField(allow_null=True)
    perplexity = serializers.FloatField(allow_null=True)
    score = MeanSerializer(allow_null=True)


class ProfileSerializer(serializers.Serializer):
    model = serializers.CharField()
    name = serializers.CharField()
    rule = RuleSerializer()
    note = serializers.CharField()
    score = MeanSerializer(allow_null=True)
    missing = GapSerializer(many=True, help_text="suites that are not in the score")
    tags = TagRowSerializer(many=True)
    suites = AgainstFieldSerializer(many=True, help_text="that others have run too, greatest advantage first")
    strengths = serializers.ListField(child=serializers.CharField())
    weaknesses = serializers.ListField(child=serializers.CharField())
    pairs = RobustPairSerializer(many=True)
    checkpoints = CheckpointSerializer(many=True)
    field = FieldModelSerializer(many=True, help_text="all models, for score against size and perplexity")
