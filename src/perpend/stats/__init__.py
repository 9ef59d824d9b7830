"""Numbers only: arrays in, Estimates out. Knows nothing of language models."""

from perpend.stats.agreement import ac1, alpha, kappa, raw_agreement
from perpend.stats.betting import paired_sequence, sequence
from perpend.stats.binary import binary_metrics, confusion_metrics, paired_bootstrap
from perpend.stats.classification import (
    Confusion,
    balanced_accuracy,
    confusion,
    mcc,
    wilson_on_balanced_accuracy_as_in_the_run_plan,
)
from perpend.stats.components import Components, expected_se, variance_components
from perpend.stats.corrected import corrected_difference, corrected_rate
from perpend.stats.equivalence import decided, equivalence
from perpend.stats.families import (
    against_mde,
    benjamini_hochberg,
    family,
    holm,
    mcnemar_power,
    mde_clustered,
    mde_paired,
)
from perpend.stats.flips import flip_rate
from perpend.stats.judged import JudgedTrials, judge_rates, precision, sensitivity, specificity
from perpend.stats.pairs import (
    cluster_mcnemar,
    excess,
    flip,
    mcnemar,
    override,
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
    "Components", "Confusion", "JudgedTrials", "ModelPair", "RankedModel", "Ranking", "ac1", "against_mde",
    "alpha", "balanced_accuracy", "benjamini_hochberg", "binary_metrics", "by_item", "clopper_pearson",
    "cluster_mcnemar", "cohens_h", "confusion", "confusion_metrics", "corrected_difference", "corrected_rate",
    "decided", "detectable", "equivalence", "errs_differently", "excess", "expected_se", "family", "flip",
    "flip_rate", "holm", "judge_rates", "kappa", "mcc", "mcnemar", "mcnemar_power", "mde_clustered", "mde_paired",
    "mean", "needed", "override", "paired_bootstrap", "paired_difference", "paired_odds_ratio", "paired_sequence",
    "paired_test", "pass_at_k", "pass_hat_k", "precision", "proportion", "rank", "raw_agreement", "rescue",
    "risk_difference", "sensitivity", "sequence", "sign_flip", "specificity", "variance_components", "wilson",
    "wilson_on_balanced_accuracy_as_in_the_run_plan",
]  # fmt: skip
