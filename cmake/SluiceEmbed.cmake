# Makes a C++ source of a file, so that it becomes part of the binary:
# cmake -D INPUT=<file> -D OUTPUT=<file.cc> -D HEADER=<its header> -D NAME=<constant> -P SluiceEmbed.cmake
# The header declares `extern const std::string_view <constant>` in sluice::api.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
string(REGEX REPLACE "(([^,]*,){16})" "\\1\n    " bytes "${bytes}")
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"

namespace sluice::api {
namespace {

constexpr char kBytes[] = {
    ${bytes}
};

}  // namespace

const std::string_view ${NAME}(kBytes, sizeof kBytes);

}  // namespace sluice::api
")
