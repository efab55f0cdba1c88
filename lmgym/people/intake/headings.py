"""Roles that headings of human data name, and the measures that they name."""

from __future__ import annotations

import re
from functools import lru_cache

from lmgym.suites.headings import named_roles, normal

_NAMES = {
    "participant": "participant participants participant_id participantid participant_no participant_number "
    "participant_code participant_private_id subject subjects subject_id subjectid subject_no subject_nr subj "
    "subj_id subjid sub sub_id subno ppt ppt_id pp ppn vp vpn worker worker_id workerid prolific_id prolific_pid "
    "proband versuchsperson recording_session_label md5 participante sujet probando",
    "item_label": "item_name itemname item_label sentence_id sent_id stimulus_id stim_id paradigm",
    "sentence": "sentence sentences stimulus stimuli sent full_sentence sentence_text satz phrase oración 文",
    "word": "word_number word_no word_nr word_num wordnum word_pos word_position word_index wordnumber position zone "
    "word_id index_in_sentence ia_id",
    "word_text": "word words each_word token wort mot palabra ia_label chunk text content region_text region_content",
    "region": "region region_number region_no region_nr region_id region_name roi roi_name region_label",
    "n": "n n_participants n_subjects n_subj n_people nitem count n_raters n_ratings num_participants",
    "sd": "sd sditemrt std stdev standard_deviation se sem stderr",
    "trial": "trial trial_number trial_no trial_nr trial_index trial_order trialnum presentation_order order "
    "trial_order_in_the_file",
    "correct": "correct accuracy acc is_correct answered_correctly question_correct question_accuracy resp_acc",
    "excluded": "excluded exclude is_excluded outlier is_outlier",
    "list": "list list_id list_number group version counterbalancing",
    "binary": "judged_acceptable accepted_by yes_no is_acceptable",
    "choice": "chosen chose is_chosen preferred forced_choice total_mean",
    "rating": "rating ratings judgment judgement judgments judgements acceptability acceptability_rating score likert "
    "likert_rating mean_rating rating_mean naturalness plausibility grammaticality z_score zscore mean_z bewertung "
    "urteil valoración",
}
_WORD = re.compile("(?<=[a-z])(?=[A-Z])")
"""Where a word begins in a heading such as WordPosition."""
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
_DEMOGRAPHIC = re.compile(
    r"age|alter|gender|sex|geschlecht|(native_|first_|mother_)?(language|tongue)s?|l1|l2|muttersprache|education|handedness|"
    r"hand|country|nationality|ethnicity|race|occupation|income|dialect|region_of_birth|birth.*|bilingual|proficiency|"
    r"device|browser|email|e_mail|name|first_name|last_name|zip(_code)?|postcode"
)
_TIMES = {
    "first fixation duration": r"(ia_)?first_fix(ation)?(_?(duration|dur|time))?|ffd|ff|ffix",
    "first-pass time": r"(ia_)?first_?(pass|run)(_?(reading|dwell))?(_?(time|duration|rt))?|fp(rt|t)?|"
    r"gaze(_duration)?|gz?d",
    "go-past time": r"go_?past(_?reading)?(_?(time|duration|rt))?|gp(t|rt)?|"
    r"(ia_)?regression_path(_?(time|duration))?|rp(d|t)",
    "total reading time": r"(ia_)?total(_?(reading|fixation|dwell))?(_?(time|duration|rt))?|(ia_)?dwell_time|"
    r"tt|trt|tf(d|t)",
    "second-pass time": r"second_?pass(_?reading)?(_?(time|duration|rt))?|sp(rt|t)|re_?reading(_time)?",
    "self-paced reading time": r"(mean_?)?(word_?|region_?|self_paced_)?(reading_?times?|rts?|rrt|lesezeit(en)?)|"
    r"(g?mean_?item_?|mean_)rts?|spr(_?(rt|time))?",
    "response time": r"reaction_times?|response_times?|latenc(y|ies)|durations?|times?|(mean_)?(resp|react)_?time",
}
"""Measures of reading times and patterns of the headings that name them, matched without a unit at the end."""


@lru_cache(maxsize=4096)
def heading_role(heading: str) -> str:
    """Return the role that a heading names, or "". Reading times are "rt_ms", whatever their unit."""
    heading = heading[:200]
    name = normal(heading).removesuffix("?")
    if measure_name(heading):
        return "rt_ms"
    if role := _ROLES.get(name) or _ROLES.get(normal(_WORD.sub("_", heading))):
        return role
    if _DEMOGRAPHIC.fullmatch(name):
        return "demographic"
    spreadsheet = re.sub(r"^spreadsheet:?_+", "", name)
    if spreadsheet != name:
        return heading_role(spreadsheet)
    role = named_roles([heading])[0]
    return {"region": "region", "name": "region", "content": "word_text"}.get(role, role)


def measure_name(heading: str) -> str:
    """Return the reading time that a heading names, as the field calls it; "" if it names none."""
    for spelling in (heading, _WORD.sub("_", heading)):
        name = normal(spelling).replace("(", "").replace(")", "")
        bare = re.sub(r"_(ms|msecs?|milliseconds?|s|secs?|seconds?)$", "", name)
        if measure := next((one for one, pattern in _TIMES.items() if re.fullmatch(pattern, bare)), ""):
            return measure
    return ""


def unit_in(heading: str) -> str:
    """Return "ms" or "s" if a heading names the unit, otherwise ""."""
    match = re.search(r"[_\s(]\(?(ms|msecs?|milliseconds?|s|secs?|seconds?)\)?$", heading.strip().lower())
    return "" if match is None else "ms" if match[1].startswith("m") else "s"
