# Facts of the release, for the programs of this directory: sourced by each of them, in the root of the tree.
# shellcheck shell=bash disable=SC2034 # The programs use the variables.

version="$(sed -nE 's/^project\(sluice VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)"
build_dir="${SLUICE_BUILD_DIR:-$PWD/build/release}" # Of a release build.
output="$PWD/build/packages"
# Packages of one commit are equal, whenever they are made.
if [[ -z "${SOURCE_DATE_EPOCH:-}" ]]; then
  SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)"
fi
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
umask 022

# Prints the Debian packages whose code is in the binary: archives that it links, and headers.
linked_packages() {
  {
    sed -nE 's/^SLUICE_ARCHIVE_[^=]*:FILEPATH=//p' "$build_dir/CMakeCache.txt"
    printf '%s\n' /usr/include/boost/version.hpp /usr/include/CLI/CLI.hpp
    realpath "$(c++ -print-file-name=libstdc++.a)" "$(c++ -print-file-name=libgcc.a)"
  } | xargs dpkg-query -S | sed 's/[:,].*//' | sort -u
}

# Prints the release notes: the part of CHANGELOG.md about this version, or about the next one if it has none yet.
release_notes() {
  awk -v heading="## [$version]" '
    index($0, heading) == 1 { found = 1; next }
    found && /^## / { exit }
    found' CHANGELOG.md | grep . || awk '
    /^## \[Unreleased\]/ { found = 1; next }
    found && /^## / { exit }
    found' CHANGELOG.md
}

# lowest_glibc <binary>: prints the lowest version of glibc that the binary runs with.
lowest_glibc() {
  readelf --wide --version-info "$1" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -Vu | tail -n 1
}
