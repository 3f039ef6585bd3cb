# The executable of `npm run release -- --executable`, on an image without a shell or anything else: docs/deployment.md#container
# What it is put on: glibc, libstdc++ and, for a key that a command keeps, a shell and that program.
ARG BASE=gcr.io/distroless/cc-debian12:nonroot
FROM node:26-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json LICENSE ./
# With the pinned Node and the bundler, and without install scripts.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY bin bin
COPY migrations migrations
COPY release release
COPY src src
COPY ui ui
# With its licences and its bill of materials.
RUN npm run release -- --executable && out/gatehouse --version
# What the final image lacks: a library that Node needs, and folders of the server's user.
RUN cp -L /usr/lib/*-linux-gnu/libatomic.so.1 . && install -d -m 0700 own/data own/run

# hadolint ignore=DL3006
FROM ${BASE}
COPY --from=build /build/libatomic.so.1 /usr/lib/
COPY --from=build /build/out/gatehouse /usr/local/bin/
COPY --from=build --chown=65532:65532 /build/own/data /data
COPY --from=build --chown=65532:65532 /build/own/run /run/gatehouse
COPY --from=build /build/out/LICENSE /build/out/THIRD-PARTY-LICENSES.txt /build/out/gatehouse.cdx.json /usr/share/doc/gatehouse/

# TLS=off: inside the container the server has to listen on all addresses, and TLS is for the proxy in front.
# In production keep the seal key elsewhere than the database: mount it, and set GATEHOUSE_SEAL_KEY_FILE.
# The root token of the first start goes into a file, because what is printed stays in the container's log; `gatehouse root-token`
# makes another one for you.
# hadolint ignore=DL3064
ENV GATEHOUSE_LISTEN=0.0.0.0:8200 \
    GATEHOUSE_TLS=off \
    GATEHOUSE_STORAGE=sqlite:/data/gatehouse.db \
    GATEHOUSE_SEAL_KEY_FILE=/data/seal.key \
    GATEHOUSE_AUDIT_DIRS=/data/audit \
    GATEHOUSE_ROOT_TOKEN_FILE=/run/gatehouse/root-token

WORKDIR /data
USER 65532:65532
VOLUME /data
EXPOSE 8200
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/usr/local/bin/gatehouse", "health"]

ENTRYPOINT ["/usr/local/bin/gatehouse"]
CMD ["server"]
