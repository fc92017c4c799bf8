# Makes a C++ source of the dashboard's files, each compressed:
# cmake -D FOLDER=<folder> -D FILES=<name>,… -D WORK=<folder> -D OUTPUT=<file.cc> -P EmbedAssets.cmake
# The hash of all files replaces @BUNDLE@ in the page, which names the others.
string(REPLACE "," ";" names "${FILES}")
set(types "html=text/html" "js=text/javascript" "css=text/css" "svg=image/svg+xml")

set(all "")
foreach(name IN LISTS names)
  file(SHA256 "${FOLDER}/${name}" hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 bundle "${all}")
string(SUBSTRING "${bundle}" 0 16 bundle)

set(arrays "")
set(rows "")
set(number 0)
foreach(name IN LISTS names)
  set(file "${WORK}/${name}")
  configure_file("${FOLDER}/${name}" "${file}" COPYONLY)
  if(name STREQUAL "index.html")
    file(READ "${file}" page)
    string(REPLACE "@BUNDLE@" "${bundle}" page "${page}")
    file(WRITE "${file}" "${page}")
  endif()
  file(SIZE "${file}" size)
  file(SHA256 "${file}" hash)
  string(SUBSTRING "${hash}" 0 16 hash)
  file(ARCHIVE_CREATE OUTPUT "${file}.gz" PATHS "${file}" FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
  file(READ "${file}.gz" bytes HEX)
  # Four bytes after the first four are the time, which MTIME does not set; a build must not depend on it.
  string(SUBSTRING "${bytes}" 16 -1 after_time)
  string(SUBSTRING "${bytes}" 0 8 bytes)
  string(APPEND bytes "00000000${after_time}")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(([^,]*,){16})" "\\1\n    " bytes "${bytes}")
  set(type "application/octet-stream")
  foreach(pair IN LISTS types)
    string(REGEX MATCH "^([a-z]+)=(.*)$" found "${pair}")
    if(name MATCHES "\\.${CMAKE_MATCH_1}$")
      string(REGEX REPLACE "^[a-z]+=" "" type "${pair}")
    endif()
  endforeach()
  string(APPEND arrays "constexpr unsigned char kBytes${number}[] = {\n    ${bytes}\n};\n")
  string(APPEND rows "    {\"${name}\", \"${type}; charset=utf-8\", \"W/\\\"${hash}\\\"\",\n"
    "     {reinterpret_cast<const char*>(kBytes${number}), sizeof kBytes${number}}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE "${OUTPUT}" "#include \"ui/assets.h\"

namespace sluice::ui {
namespace {

${arrays}
const Asset kAssets[] = {
${rows}};

}  // namespace

std::span<const Asset> Assets() { return kAssets; }
std::string_view AssetBundle() { return \"${bundle}\"; }

}  // namespace sluice::ui
")
