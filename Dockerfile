# HydroMechs in a container:
#   docker build -t hydromechs .
#   docker run --rm -v "$PWD:/work" hydromechs demo
#   docker run --rm -it --network host hydromechs pilot pick_and_release --no-browser
# The folder that is mounted must be one that user 1000 may write to.
ARG BASE=docker.io/library/python:3.13-slim
FROM ${BASE} AS build
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN python3 -m venv /opt/hydromechs && /opt/hydromechs/bin/python -m pip install --no-cache-dir "/source[collada,xacro]"

FROM ${BASE}
COPY --from=build /opt/hydromechs /opt/hydromechs
# The cache of machine code is the user's: a container that is kept, or a volume there, compiles once.
RUN useradd --create-home --uid 1000 diver && mkdir /work && chown diver /work
USER diver
WORKDIR /work
ENV PATH=/opt/hydromechs/bin:$PATH
ENTRYPOINT ["hydromechs"]
CMD ["--help"]
