"""What classifiers trained on the auxiliary data see of the protected file, whatever it is."""

import numpy as np

from app.contracts.warnings import JobWarning, WarningCode, warning
from app.errors import InfeasibleError
from app.methods.group.spec import GroupSpec
from app.methods.microfile.attacks import ClassifierReport
from workers.algorithms.groups.signals.signals import members
from workers.algorithms.groups.swaps.problem import Swaps
from workers.frames.harmonised import sources
from workers.methods.context import JobContext
from workers.methods.microfile.attack import Places
from workers.methods.microfile.classifying import Standing, common_columns, learn, reports, score
from workers.methods.microfile.microfile import Wanted, read
from workers.methods.swaps.release import Exchange
from workers.methods.swaps.setting import Setting

#: Records that they are trained on.
_SAMPLE = 50_000


def seen_through(
    setting: Setting,
    job: JobContext,
    exchange: Exchange,
    chosen: Swaps,
    *,
    rng: np.random.Generator,
    stage: tuple[float, float],
) -> tuple[tuple[ClassifierReport, ...], tuple[JobWarning, ...]]:
    """Reports of classifiers on the file as it is released; none where there is nothing to learn from, with the reason.

    Parameters
    ----------
    setting, exchange, chosen
        The request, the exchanged part, and the swaps that mask.
    stage
        Shares of the whole job at the beginning and the end.
    """
    learned = setting.learned
    if learned is None or setting.spec.auxiliary_dataset_id is None:
        return (), ()

    def tick(share: float) -> None:
        job.tick(stage[0] + (stage[1] - stage[0]) * share, "classifiers")

    path = job.dataset_path("auxiliary_dataset_id")
    try:
        models = learn(learned, path, _names(setting, job, learned), _SAMPLE, rng, lambda at: tick(0.7 * at))
    except InfeasibleError as error:  # the file is masked all the same
        detail = f"no classifier was trained on the auxiliary dataset: {error.errors[0].detail}"
        return (), (warning(WarningCode.CLASSIFIERS_NOT_TRAINED, detail, "/spec/auxiliary_dataset_id"),)
    scored = score(models, job.dataset_path(), setting.model.recode, lambda _: tick(0.8))
    return reports(scored, _standing(setting, job, exchange, chosen)), ()


def _names(setting: Setting, job: JobContext, learned: GroupSpec) -> tuple[str, ...]:
    """Published columns that the auxiliary data have too, but for the exchanged part."""
    paths = (job.dataset_path("auxiliary_dataset_id"), job.dataset_path())
    recodings = (learned.recode.auxiliary, setting.model.recode)
    common = common_columns(learned, paths, recodings, (*setting.spec.region_columns, *learned.region_columns))
    return tuple(name for name in common if not set(sources(name, setting.model.recode)) & set(setting.spec.drop))


def _standing(setting: Setting, job: JobContext, exchange: Exchange, chosen: Swaps) -> Standing:
    everybody = read(job.dataset_path(), Wanted((), setting.model.recode, region_columns=setting.spec.region_columns))
    rows, regions = setting.microfile.rows, setting.microfile.regions
    before = np.full(len(exchange.positions), -1, dtype=np.int64)
    before[everybody.rows] = everybody.region
    place = before[exchange.positions]
    in_range = np.zeros(len(place), dtype=np.bool_)
    in_range[rows] = True
    masked = Places(everybody.regions).known([regions[one] for one in setting.hiding.masked])
    member = members(setting.hiding.grades, setting.alpha)
    group = rows[member]
    return Standing(
        place=place,
        in_range=in_range,
        places=len(everybody.regions),
        wanted=tuple(masked),
        outliers=setting.spec.outliers,
        moved=rows[chosen.source_row[member[chosen.source_row]]],
        group=group[~np.isin(place[group], masked)],
    )
