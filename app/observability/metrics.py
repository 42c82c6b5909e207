"""Prometheus metrics of one process, in a registry of their own: an app can be made twice."""

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector

_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 300.0)


class Metrics:
    """What an API process counts by itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)  # memory, processor time and open files of this process
        self._requests = Counter(
            "surebox_requests", "Requests answered.", ["route", "method", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "surebox_request_seconds",
            "Time from the first byte of a request to the last of its answer.",
            ["route", "method"],
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request; `route` is a template, so that there are few of them."""
        self._requests.labels(route, method, status).inc()
        self._seconds.labels(route, method).observe(seconds)
