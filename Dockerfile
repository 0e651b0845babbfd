# bayplan in a container: `docker build -t bayplan:0.1.0 .`; runs as nobody in particular, needs no file of its own to be written.
#
# The chart in deploy/helm/bayplan runs what comes of it. `--build-arg EXTRAS=otel,parquet` adds what spans and the log of decisions as
# columns need (pyproject.toml has the list). To add plugins that are packages:
#
#     FROM bayplan:0.1.0
#     USER root
#     RUN pip --python /opt/bayplan/bin/python install my-plugins
#     USER 65532:65532
FROM python:3.13.14-slim-trixie AS build

WORKDIR /build
# The exact versions that the checks run with. First what changes seldom, so that it is kept from build to build.
COPY requirements/dev.txt requirements/
RUN pip install --no-cache-dir --disable-pip-version-check --constraint requirements/dev.txt hatchling
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY examples/demo examples/demo
COPY src src
RUN python -m hatchling build --target wheel --directory dist
# Without pip: what runs in a cluster has no use for it.
RUN python -m venv --without-pip /opt/bayplan
ARG EXTRAS=""
RUN pip --python /opt/bayplan/bin/python install --no-cache-dir --disable-pip-version-check \
        --only-binary :all: --constraint requirements/dev.txt "$(echo dist/bayplan-*.whl)${EXTRAS:+[$EXTRAS]}"

FROM python:3.13.14-slim-trixie

LABEL org.opencontainers.image.title="bayplan" \
      org.opencontainers.image.description="The Kubernetes scheduler that is programmed in Python" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/bayplan /opt/bayplan
# The file system is read-only in a cluster; what pip compiled is there. Log lines leave at once. One thread decides: a pool for
# linear algebra would be memory for nothing.
ENV PATH=/opt/bayplan/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
WORKDIR /tmp
EXPOSE 10259
ENTRYPOINT ["bayplan"]
CMD ["run", "--help"]
