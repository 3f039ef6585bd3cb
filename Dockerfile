# The base image brings its own Node of the major version that the project is pinned to, so the optional packages with a Node stay out.
FROM node:26-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:26-slim AS bundle
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY bin bin
COPY migrations migrations
COPY release release
COPY src src
RUN npm run build

FROM node:26-slim AS warm
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY migrations migrations
COPY --from=bundle /app/dist dist
RUN install -d -o node -g node node_modules/.cache/gatehouse
# Compiled code belongs to one Node and one user: the user of the container starts the server once, on a store that is thrown away.
# A server that does not start, or does not stop in order, ends the build.
USER node
ENV NODE_ENV=production
RUN set -e; dir=$(mktemp -d); \
    GATEHOUSE_LISTEN=127.0.0.1:0 GATEHOUSE_STORAGE=sqlite:$dir/db GATEHOUSE_SEAL_KEY_FILE=$dir/key GATEHOUSE_ROOT_TOKEN_FILE=$dir/token \
      bin/gatehouse 2>$dir/log & server=$!; \
    until grep -q '"event":"started"' $dir/log; do kill -0 $server; sleep 0.1; done; \
    kill -TERM $server; wait $server; rm -r $dir; \
    chmod -R a+rX node_modules/.cache/gatehouse

# Copied anew, so all of it is root's: the server cannot change what it runs.
FROM node:26-slim
WORKDIR /app
COPY --from=warm --chown=root:root /app ./
RUN install -d -o node -g node -m 0700 /data

# TLS=off: inside the container the server has to listen on all addresses, and TLS is for the proxy in front.
# The root token of the first start goes into a file, because what is printed stays in the container's log.
# In production keep the seal key elsewhere than the database: mount it, and set GATEHOUSE_SEAL_KEY_FILE.
ENV NODE_ENV=production \
    GATEHOUSE_LISTEN=0.0.0.0:8200 \
    GATEHOUSE_TLS=off \
    GATEHOUSE_STORAGE=sqlite:/data/gatehouse.db \
    GATEHOUSE_SEAL_KEY_FILE=/data/seal.key \
    GATEHOUSE_AUDIT_DIRS=/data/audit \
    GATEHOUSE_ROOT_TOKEN_FILE=/data/root-token

USER node
VOLUME /data
EXPOSE 8200
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8200/health/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

CMD ["bin/gatehouse"]
