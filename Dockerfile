# Builds the server from source, and an image with nothing but the server and what it needs (docs/containers.md):
#   docker build -t sluice .
# It is the image of `./dev package image`, which needs no container engine.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
WORKDIR /src
COPY . .
ARG SOURCE_DATE_EPOCH=0
RUN --mount=type=cache,target=/root/.cache/ccache \
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH} ./dev package image --root /image

FROM scratch
# The commit, for a label.
ARG SLUICE_REVISION=""
COPY --from=build /image /
COPY --from=build --chown=65532:65532 /image/var/lib/sluice /var/lib/sluice
ENV PATH=/usr/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt SLUICE_CONFIG=/etc/sluice/sluice.yaml
USER 65532:65532
EXPOSE 8080 6380 8081
VOLUME /var/lib/sluice
LABEL org.opencontainers.image.title=sluice \
  org.opencontainers.image.description="A distributed rate limiter" \
  org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.revision=${SLUICE_REVISION}
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["/usr/bin/sluice", "healthcheck"]
ENTRYPOINT ["/usr/bin/sluice"]
CMD ["serve"]
