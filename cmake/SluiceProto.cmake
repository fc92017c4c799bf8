# The gRPC services' files, and the compiler that reads them.
find_program(SLUICE_PROTOC protoc REQUIRED)
mark_as_advanced(SLUICE_PROTOC)
set(SLUICE_PROTO_DIR "${PROJECT_SOURCE_DIR}/proto")
set(SLUICE_PROTOS  # As they import each other.
  envoy/config/core/v3/base.proto
  envoy/extensions/common/ratelimit/v3/ratelimit.proto
  envoy/service/ratelimit/v3/rls.proto
  envoy/type/v3/ratelimit_unit.proto
  grpc/health/v1/health.proto
  grpc/reflection/v1/reflection.proto
  grpc/reflection/v1alpha/reflection.proto
  sluice/v1/limiter.proto)
list(TRANSFORM SLUICE_PROTOS PREPEND "${SLUICE_PROTO_DIR}/" OUTPUT_VARIABLE SLUICE_PROTO_PATHS)
