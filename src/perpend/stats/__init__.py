"""Numbers only: arrays in, Estimates out. Knows nothing of language models."""

from perpend.stats.agreement import ac1, alpha, kappa, raw_agreement
from perpend.stats.betting import paired_sequence, sequence
from perpend.stats.binary import binary_metrics, confusion_metrics, paired_bootstrap
from perpend.stats.classification import (
    Confusion,
    accuracy_bounds,
    accuracy_effective,
    accuracy_valid,
    balanced_accuracy,
    balanced_accuracy_effective,
    bias,
    confusion,
    coverage,
    mcc,
    tnr,
    tpr,
    wilson_on_balanced_accuracy_as_in_the_run_plan,
)
from perpend.stats.components import Components, expected_se, variance_components
from perpend.stats.corrected import corrected_difference, corrected_rate
from perpend.stats.equivalence import decided, equivalence
from perpend.stats.families import (
    Family,
    against_mde,
    benjamini_hochberg,
    bonferroni,
    family,
    holm,
    mcnemar_power,
    mde_clustered,
    mde_independent,
    mde_paired,
    power_independent,
)
from perpend.stats.flips import flip_rate
from perpend.stats.judged import JudgedTrials, judge_rates, npv, precision, sensitivity, specificity
from perpend.stats.pairs import (
    cluster_mcnemar,
    excess,
    flip,
    mcnemar,
    override,
    pair_table,
    paired_difference,
    paired_odds_ratio,
    paired_test,
    rescue,
    sign_flip,
)
from perpend.stats.passing import pass_at_k, pass_hat_k
from perpend.stats.proportions import clopper_pearson, cohens_h, mean, proportion, risk_difference, wilson
from perpend.stats.ranking import ModelPair, RankedModel, Ranking, by_item, rank
from perpend.stats.sample_size import detectable, needed
from perpend.stats.unequal_errors import errs_differently

__all__ = [
    "Components", "Confusion", "Family", "JudgedTrials", "ModelPair", "RankedModel", "Ranking", "ac1",
    "accuracy_bounds", "accuracy_effective", "accuracy_valid", "against_mde", "alpha", "balanced_accuracy",
    "balanced_accuracy_effective", "benjamini_hochberg", "bias", "binary_metrics", "bonferroni", "by_item",
    "clopper_pearson", "cluster_mcnemar", "cohens_h", "confusion", "confusion_metrics", "corrected_difference",
    "corrected_rate", "coverage", "decided", "detectable", "equivalence", "errs_differently",
    "excess", "expected_se", "family", "flip", "flip_rate", "holm", "judge_rates", "kappa", "mcc", "mcnemar",
    "mcnemar_power", "mde_clustered", "mde_independent", "mde_paired", "mean", "needed", "npv", "override",
    "pair_table", "paired_bootstrap", "paired_difference", "paired_odds_ratio", "paired_sequence", "paired_test",
    "pass_at_k", "pass_hat_k", "power_independent", "precision", "proportion", "rank",
    "raw_agreement", "rescue", "risk_difference", "sensitivity", "sequence", "sign_flip", "specificity", "tnr", "tpr",
    "variance_components", "wilson", "wilson_on_balanced_accuracy_as_in_the_run_plan",
]  # fmt: skip
