# caisson in a container that asks for no privilege:
#
#   docker build -t caisson . && docker run -p 7070:7070 caisson
#
# docs/how-to/container-image.md and SECURITY.md ("In a container") describe it.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY console/package.json console/
# With the Node that package.json pins: that one runs the service and its guests, not the one of this stage.
RUN npm ci --include-workspace-root --workspace=console --ignore-scripts --loglevel=error

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json package-lock.json .npmrc ./
COPY scripts/node scripts/build.ts scripts/build-console.ts scripts/
COPY src src
# The command line and the console use the client, and are bundled with it.
COPY client/src client/src
COPY tsconfig.json ./
COPY console/package.json console/tsconfig.json console/vite.config.ts console/index.html console/
COPY console/src console/src
RUN scripts/node scripts/build.ts && scripts/node scripts/build-console.ts
# The build has all packages in it. What remains is Node.
RUN npm prune --omit=dev --workspaces=false --ignore-scripts --loglevel=error

# Debian's slim image: its libc is the one that Node's builds are tested with, and it has the shell and the ldd by which
# the service finds Node's libraries. npm and its Node stay behind in the other stage.
FROM debian:bookworm-slim
# The wall of a default container needs no program. Where the engine permits user namespaces, bubblewrap makes a stronger one.
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
# Whom the service becomes: it is started as root, which only its launcher keeps, so that each guest gets a user of its own.
RUN useradd --uid 1000 --home-dir /nonexistent --shell /usr/sbin/nologin caisson
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY package.json ./
COPY scripts/node scripts/
COPY --from=build /app/dist dist
# What the commands of a container's root would compile, this one has: see src/built/load-program.ts.
RUN scripts/node dist/main.js --version
# Open to whoever the container is run as; what the service makes in it is its own alone.
RUN install -d -m 1777 /data
VOLUME /data
# Beyond the container's own loopback it is the engine that decides who reaches the port. TLS is told by
# CAISSON_TLS_CERT and CAISSON_TLS_KEY; without it, publish on loopback or behind a proxy.
ENV CAISSON_DATA=/data/caisson CAISSON_HOST=0.0.0.0 CAISSON_INSECURE_HTTP=true
EXPOSE 7070
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["scripts/node", "dist/main.js", "health"]
ENTRYPOINT ["scripts/node", "dist/main.js"]
CMD ["serve"]
