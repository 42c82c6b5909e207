"""The rules that a specification names: its own, or those that an earlier `group` job has found."""

import math
from typing import Protocol

import numpy as np

from app.errors import InfeasibleError, pointer
from app.methods.group.spec import GroupSpec, group_spec
from app.methods.microfile.spec import RulesModel
from workers.algorithms.groups.rules.fits import confidence_order
from workers.algorithms.groups.rules.rules import Rules
from workers.methods.context import JobContext


class Modelled(Protocol):
    """A specification with a model of the group."""

    @property
    def rules_model(self) -> RulesModel | None:
        """A model of its own."""
        ...

    @property
    def model_job_id(self) -> str | None:
        """The job that found one."""
        ...


def learned_by(spec: Modelled, job: JobContext) -> GroupSpec | None:
    """What the job that found the model was requested; None where the model was given."""
    return group_spec(job.jobs["model_job_id"].spec) if spec.model_job_id is not None else None


def rules_by(spec: Modelled, job: JobContext, learned: GroupSpec | None) -> tuple[Rules, float]:
    """The rules, the most confident first (given ones as they are), and the group's alpha.

    Raises
    ------
    InfeasibleError
        The job found no rules.
    """
    if spec.rules_model is not None:
        return np.array([rule.terms for rule in spec.rules_model.rules], dtype=np.int8), spec.rules_model.min_membership
    return rules_learned(job, "model_job_id", learned)


def rules_learned(job: JobContext, role: str, learned: GroupSpec | None) -> tuple[Rules, float]:
    """Rules of the `group` job at a place of the specification, the most confident first, and its alpha.

    Raises
    ------
    InfeasibleError
        It found none.
    """
    entries = job.job_result(role)["rules"]
    if not entries or learned is None:
        detail = "the job found no rules: there is no model of the group to mask"
        raise InfeasibleError.at(pointer(*role.split("/")), detail)
    factors = [math.inf if rule["infinite"] else rule["relative_confidence_factor"] for rule in entries]
    rules = np.array([rule["terms"] for rule in entries], dtype=np.int8)
    return rules[confidence_order(np.array(factors, dtype=np.float64))], learned.min_membership
