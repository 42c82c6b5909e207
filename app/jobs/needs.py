"""Expected needs of jobs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """The CPU, memory, files and temporary files that a job is expected to need.

    Attributes
    ----------
    seconds : of CPU, of all its threads together.
    bytes : of memory, beyond what a worker uses before it begins.
    written : bytes of the files of its release, in all their formats.
    scratch : bytes of files on its worker's disk, those of the release and what it reads among them.
    """

    seconds: float
    bytes: float
    written: float = 0.0
    scratch: float = 0.0

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            self.seconds + other.seconds,
            self.bytes + other.bytes,
            self.written + other.written,
            self.scratch + other.scratch,
        )
