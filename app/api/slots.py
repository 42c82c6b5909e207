"""How many of something each owner holds at once, in one process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from app.errors import TooManyRequestsError


class Slots:
    """Counts event streams by owner; lives on the event loop."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def held(self, owner: str) -> int:
        """How many this owner holds."""
        return self._held[owner]

    @contextmanager
    def hold(self, owner: str, *, at_most: int) -> Iterator[None]:
        """Hold one.

        Raises
        ------
        TooManyRequestsError
            If the owner holds that many already.
        """
        if self._held[owner] >= at_most:
            detail = f"{at_most} event streams of this owner are open, which is the limit: close one"
            raise TooManyRequestsError(detail, retry_after=5)
        self._held[owner] += 1
        try:
            yield
        finally:
            self._held[owner] -= 1
            if not self._held[owner]:
                del self._held[owner]
