# One image for the gateway, the query service, the dashboard and the commands. deploy/check-image.sh runs the same steps without an engine.
#
# `npm run test:debian13` tests this Node on Debian 13. Where Debian 12 is needed, Node 20:
# --build-arg NODE_IMAGE=node:20.20.2-bookworm-slim (other binaries of uWebSockets.js need glibc 2.38).
ARG NODE_IMAGE=node:24.21.0-trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY deploy/image ./deploy/image
RUN node deploy/image/trim-package.mjs && npm install --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json main.ts ./
COPY cli ./cli
COPY common ./common
COPY events ./events
COPY gateway ./gateway
COPY query ./query
COPY console ./console
COPY load ./load
# what the web app shares with the client
COPY client/src ./client/src
COPY client/build.ts client/package.json ./client/
COPY deploy/compose/init ./deploy/compose/init
RUN npx --no-install tsc -p tsconfig.build.json && node deploy/image/compiled-imports.mjs \
    && cp -R load/mixes dist/load/mixes && cp load/mix/mix.schema.json dist/load/mix \
    && mkdir -p console/web/dist client/dist && npm run --if-present build:console \
    && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
    && node deploy/image/trim-modules.mjs

FROM ${NODE_IMAGE} AS runtime
# the package manager of the base image has no work here
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
    /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-*
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./
COPY --from=build /build/console/web/dist ./console/web/dist
COPY --from=build /build/client/dist ./client/dist
COPY LICENSE ./
# The only place it writes to is DATA_DIR: a control socket, so a small tmpfs does. HOME, because the AWS SDK asks for the
# home of its user, whom no file here knows.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16 MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=524288 HOST=0.0.0.0 PORT=8080 DATA_DIR=/run/sluice HOME=/run/sluice
RUN mkdir -m 0700 /run/sluice && chown 65532:65532 /run/sluice
USER 65532:65532
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "cli/healthcheck.js"]
CMD ["node", "main.js"]

# Makes the keys and the certificate of docker-compose.yml. A stage of its own, because only it needs openssl.
FROM runtime AS init
USER 0:0
RUN apt-get update && apt-get install -y --no-install-recommends openssl && rm -rf /var/lib/apt/lists/* \
    && mkdir -p /keys/sluice /keys/gateway /keys/clickhouse /keys/valkey /keys/s3 /keys/tls /volumes/files \
    && chown -R 65532:65532 /keys /volumes/files
USER 65532:65532
HEALTHCHECK NONE
CMD ["node", "deploy/compose/init/make-keys.js"]

FROM runtime
