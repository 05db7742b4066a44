# The gateway as a container: Caddy's standard modules and mcp_app.
#
#   docker build -t caddy-mcp-app --build-arg VERSION=v0.1.0 .
#
# Runs as an ordinary user on a read-only root; /data keeps certificates and the
# keys that seal sessions and must outlive the container.
FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS build
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags nobadger,nomysql,nopgx \
    -ldflags "-s -w -X github.com/caddyserver/caddy/v2.CustomVersion=$VERSION" -o /out/caddy ./cmd/caddy

FROM alpine:3.22
ARG VERSION=dev REVISION=unknown
LABEL org.opencontainers.image.title="caddy-mcp-app" \
      org.opencontainers.image.description="A gateway that makes an unchanged MCP server a tenant-safe ChatGPT plugin" \
      org.opencontainers.image.source="https://github.com/caddy-mcp-app/caddy-mcp-app" \
      org.opencontainers.image.documentation="https://github.com/caddy-mcp-app/caddy-mcp-app/tree/main/docs" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
RUN apk add --no-cache ca-certificates && \
    adduser -D -H -u 10001 -h /data gateway && \
    mkdir -p /data /config /etc/caddy && chown gateway /data /config
COPY --from=build /out/caddy /usr/bin/caddy
COPY deploy/docker/Caddyfile /etc/caddy/Caddyfile
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config HOME=/data
VOLUME ["/data", "/config"]
EXPOSE 8080 8443
USER 10001
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
    CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:2019/mcp_app/ready"]
ENTRYPOINT ["/usr/bin/caddy"]
CMD ["run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
