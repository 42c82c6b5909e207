"""A method for tests only: steps of a given length, a native kernel that does not return, planted failures."""

from typing import ClassVar, Literal

from app.contracts.jobs import JobKind, ReleasingSpec


class ProbeSpec(ReleasingSpec):
    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    version: ClassVar[int] = 1

    method: Literal["probe"] = "probe"
    steps: int = 1
    step_seconds: float = 0.0
    kernel_seconds: int = 0
    burnt_rounds: int = 0
    finish_seconds: float = 0.0
    fail: Literal["", "infeasible", "value", "memory", "nan", "record", "cancel", "allocate"] = ""
    parts: int = 0
    fail_part: int | None = None
    release: bool = False
    warn: bool = False
    result_bytes: int = 0
    filled_bytes: int = 0
    scattered_bytes: int = 0
    journal: str = ""
    traps: str = ""


class NewerProbeSpec(ProbeSpec):
    """The probe as a later version of the service asks for it."""

    version: ClassVar[int] = 2
