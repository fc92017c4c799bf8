"""Small bad trees, to prove that each house check notices what it is there for."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import check_clocks
import check_documents
import check_fuzz
import check_rooms
import extract_examples

ROOT = Path(__file__).resolve().parents[2]


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text=""):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def only(self, problems, *words):
        """Exactly one problem, which says all of this."""
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])


class Includes(Tree):
    def setUp(self):
        super().setUp()
        for header in (
            "include/sluice/time.h",
            "src/base/clock.h",
            "src/algo/bucket.h",
            "src/algo/testing/model.h",
            "src/store/store.h",
            "src/store/memory/memory_store.h",
            "src/resp/codec.h",
        ):
            self.write(header)

    def problems(self):
        return check_rooms.check_includes(self.root, check_rooms.load_rooms())

    def test_a_room_may_look_down_through_several_rooms(self):
        self.write("src/store/memory/memory_store.cc", '#include "base/clock.h"\n#include <sluice/time.h>\n')
        self.assertEqual(self.problems(), [])

    def test_a_room_may_not_look_up(self):
        self.write("src/base/clock.cc", '// Why.\n#include "algo/bucket.h"\n')
        self.only(self.problems(), "src/base/clock.cc:2:", "src/base may not look into src/algo")

    def test_a_room_may_not_look_sideways(self):
        self.write("src/store/store.cc", '#include "resp/codec.h"\n')
        self.only(self.problems(), "src/store may not look into src/resp")

    def test_an_outer_room_may_not_look_into_its_inner_room(self):
        self.write("src/store/store.cc", '#include "store/memory/memory_store.h"\n')
        self.only(self.problems(), "src/store may not look into src/store/memory")

    def test_an_include_in_a_comment_or_string_does_not_count(self):
        self.write("src/base/clock.cc", '/*\n#include "algo/bucket.h"\n*/\nauto s = R"(\n#include "algo/bucket.h"\n)";\n')
        self.assertEqual(self.problems(), [])

    def test_testing_is_for_tests_here_and_in_rooms_above(self):
        self.write("src/algo/bucket_test.cc", '#include "algo/testing/model.h"\n')
        self.write("src/store/memory/memory_store_test.cc", '#include "algo/testing/model.h"\n')
        self.write("src/store/testing/conformance.h", '#include "algo/testing/model.h"\n')
        self.assertEqual(self.problems(), [])
        self.write("src/store/store.cc", '#include "algo/testing/model.h"\n')
        self.only(self.problems(), "src/store/store.cc:1:", "testing/ is for tests")

    def test_a_test_may_not_look_up_either(self):
        self.write("src/base/clock_test.cc", '#include "algo/testing/model.h"\n')
        self.only(self.problems(), "src/base may not look into src/algo")

    def test_the_face_knows_only_std_and_itself(self):
        self.write("include/sluice/limit.h", "#include <vector>\n#include <sluice/time.h>\n")
        self.assertEqual(self.problems(), [])
        for bad in ("<absl/time/time.h>", '"base/clock.h"', "<sys/time.h>", '"sluice/time.h"'):
            self.write("include/sluice/limit.h", f"#include {bad}\n")
            self.only(self.problems(), "include/sluice/limit.h:1:", "only the standard library")

    def test_our_headers_are_named_from_src(self):
        self.write("src/base/clock.cc", '#include "clock.h"\n')
        self.only(self.problems(), "relative to src/")
        self.write("src/base/clock.cc", "#include <base/clock.h>\n")
        self.only(self.problems(), "quotes are for those under src/")


class Rooms(Tree):
    def problems(self):
        return check_rooms.check_rooms(self.root, check_rooms.load_rooms())

    def test_a_whole_room_passes(self):
        self.write("src/base/clock.h")
        self.write("src/base/README.md")
        self.write("src/base/CMakeLists.txt", "sluice_room(base HEADERS clock.h)")
        self.assertEqual(self.problems(), [])

    def test_a_room_needs_a_readme(self):
        self.write("src/base/clock.h")
        self.write("src/base/CMakeLists.txt", "clock.h")
        self.only(self.problems(), "src/base: has no README.md")

    def test_a_room_needs_a_list_of_its_files(self):
        self.write("src/base/clock.h")
        self.write("src/base/README.md")
        self.only(self.problems(), "src/base: has no CMakeLists.txt")

    def test_every_file_is_listed(self):
        self.write("src/algo/testing/model.h")
        self.write("src/algo/README.md")
        self.write("src/algo/CMakeLists.txt", "sluice_room(algo HEADERS model.h)")
        self.only(self.problems(), "src/algo/testing/model.h: not named in src/algo/CMakeLists.txt")

    def test_no_code_outside_of_the_rooms(self):
        self.write("src/attic/old.cc")
        self.only(self.problems(), "src/attic is no room")

    def test_src_readme_shows_the_real_table(self):
        rooms = check_rooms.load_rooms()
        readme = (ROOT / "src/README.md").read_text(encoding="utf-8")
        self.write("src/README.md", readme)
        self.assertEqual(check_rooms.check_readme(self.root, rooms), [])
        row = next(line for line in readme.splitlines() if line.startswith("| `src/algo/`"))
        self.write("src/README.md", readme.replace(row + "\n", ""))
        self.only(check_rooms.check_readme(self.root, rooms), "lacks src/algo")
        self.write("src/README.md", readme.replace(row, row.replace("| base |", "| net |")))
        self.only(check_rooms.check_readme(self.root, rooms), "src/algo may look into src/base, not net")


class Clocks(Tree):
    def test_reading_a_clock_is_noticed(self):
        for call in (
            "std::chrono::steady_clock::now()",
            "Clock :: now()",
            "clock_gettime(CLOCK_MONOTONIC, &ts)",
            "gettimeofday(&tv, nullptr)",
            "time(nullptr)",
            "std::time(&t)",
            "__rdtsc()",
        ):
            self.write("src/algo/bucket.cc", f"int separated = 1'000;\nauto t = {call}; char c = 'x';\n")
            self.only(check_clocks.check(self.root), "src/algo/bucket.cc:2:")

    def test_base_benchmarks_comments_and_strings_are_left_alone(self):
        self.write("src/base/clock.cc", "auto t = system_clock::now();")
        self.write("src/algo/bucket_bench.cc", "auto t = steady_clock::now();")
        self.write("src/algo/bucket.cc", '// time(nullptr)\nconst char* s = "system_clock::now()"; int reset_time(int); limit.time(0);')
        self.assertEqual(check_clocks.check(self.root), [])


class Fuzz(Tree):
    def setUp(self):
        super().setUp()
        self.write("fuzz/http_fuzz.cc")
        self.write("fuzz/corpus/http/get", "GET / HTTP/1.1")
        self.write("fuzz/dictionaries/http.dict", '# Words.\n"GET "\nend="\\x0d\\x0a"\n')

    def test_a_target_with_seeds_and_a_dictionary_passes(self):
        self.assertEqual(check_fuzz.check(self.root), [])

    def test_a_target_without_seeds_is_noticed(self):
        (self.root / "fuzz/corpus/http/get").unlink()
        self.only(check_fuzz.check(self.root), "http", "no seeds")

    def test_a_target_without_a_dictionary_is_noticed(self):
        (self.root / "fuzz/dictionaries/http.dict").unlink()
        self.only(check_fuzz.check(self.root), "no fuzz/dictionaries/http.dict")

    def test_a_word_that_libfuzzer_refuses_is_noticed(self):
        self.write("fuzz/dictionaries/http.dict", '"GET \\n"\n')
        self.only(check_fuzz.check(self.root), "http.dict:1:")

    def test_a_dictionary_of_no_target_is_noticed(self):
        self.write("fuzz/dictionaries/smtp.dict", '"HELO"\n')
        self.only(check_fuzz.check(self.root), "smtp.dict")

    def test_too_large_a_corpus_is_noticed(self):
        self.write("fuzz/corpus/http/large", "x" * 300_001)
        self.only(check_fuzz.check(self.root), "at most")


class Documents(Tree):
    def setUp(self):
        super().setUp()
        self.write("dev", "#!/bin/bash\ncmd_test() {\n  :\n}\n")

    def test_true_documents_pass(self):
        self.write("docs/a.md", "# A title: here\n[itself](#a-title-here) [site](https://example.org/x)\n")
        self.write("README.md", "[a](docs/a.md#a-title-here) `./dev test`\n```sh\n./dev test -R x\n[not](a link)\n```\n")
        self.assertEqual(check_documents.check(self.root), [])

    def test_a_broken_link_is_noticed(self):
        self.write("docs/a.md", "one\n[b](b.md)\n")
        self.only(check_documents.check(self.root), "docs/a.md:2:", "b.md")

    def test_a_broken_anchor_is_noticed(self):
        self.write("README.md", "# Title\n[b](#titles)\n")
        self.only(check_documents.check(self.root), "README.md:2:", "#titles")

    def test_a_file_that_does_not_exist_is_noticed(self):
        self.write("src/algo/bucket.h")
        self.write("docs/a.md", "`bucket.h`, `algo/bucket.h` and `src/algo/bucket.h`\n```\n`none.h`\n```\n")
        self.assertEqual(check_documents.check(self.root), [])
        self.write("docs/a.md", "`bucket.cc`, `base/bucket.h`, `ucket.h`\n")
        self.assertEqual(len(check_documents.check(self.root)), 3)
        self.write("docs/a.md")
        self.write("src/base/README.md", "`algo/bucket.h` and `../algo/bucket.h`\n")
        self.assertEqual(check_documents.check(self.root), [])
        self.write("src/base/README.md", "`bucket.h`\n")
        self.only(check_documents.check(self.root), "src/base/README.md:1:", "bucket.h")

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_an_invalid_scrape_configuration_is_noticed(self):
        self.write("deploy/prometheus/alerts.yml", "groups: []\n")
        valid = "```yaml\nrule_files: [alerts.yml]\nscrape_configs:\n  - job_name: sluice\n```\n"
        self.write("docs/metrics.md", valid)
        self.assertEqual(check_documents.check(self.root), [])
        self.write("docs/metrics.md", valid.replace("job_name", "jobname"))
        self.only(check_documents.check(self.root)[:1], "docs/metrics.md:")
        self.write("docs/metrics.md", "# Metrics\n")
        self.only(check_documents.check(self.root), "no scrape configuration")

    def test_the_map_names_only_what_exists(self):
        self.write("src/algo/bucket.h", "struct Bucket { void Take(); };\n")
        self.write("src/algo/README.md", "`Bucket`, `Bucket::Take`\n")
        self.write("docs/other.md", "`Barrel`\n")
        self.assertEqual(check_documents.check(self.root), [])
        self.write("src/algo/README.md", "`Bucket::Give`\n")
        self.only(check_documents.check(self.root), "src/algo/README.md:1:", "Bucket::Give")

    def test_vague_words_are_noticed(self):
        self.write("docs/a.md", "```text\nnobody\n```\nThe caller is Told why.\n")
        self.only(check_documents.check(self.root), "docs/a.md:4:", "'Told'")

    def test_an_unknown_sub_command_is_noticed(self):
        self.write("README.md", "Run `./dev tets`.\n")
        self.only(check_documents.check(self.root), "README.md:1:", "'tets'")
        self.write("README.md", "```sh\n./dev tets\n```\n")
        self.only(check_documents.check(self.root), "README.md:2:", "'tets'")


class Examples(Tree):
    def test_programs_are_taken_with_their_line(self):
        self.write("README.md", "# T\n```cpp\n#include <x>\nint main() {}\n```\n")
        self.write("docs/deep/a.md", "```cpp norun\n#include <y>\n```\n```cpp fragment\nx();\n```\n")
        examples, problems = extract_examples.extract(self.root)
        self.assertEqual(problems, [])
        self.assertEqual([(name, mode) for name, mode, _ in examples], [("README_2", "run"), ("docs_deep_a_1", "norun")])
        self.assertTrue(examples[0][2].startswith('#line 3 "README.md"\n#include <x>\n'))

    def test_half_a_program_is_noticed(self):
        self.write("README.md", "```cpp\nx();\n```\n")
        self.only(extract_examples.extract(self.root)[1], "README.md:1:", "not a whole program")

    def test_an_unknown_kind_is_noticed(self):
        self.write("README.md", "```cpp nurun\n#include <x>\n```\n")
        self.only(extract_examples.extract(self.root)[1], "README.md:1:", "cpp nurun")


class Headers(Tree):
    def header_check(self, header):
        self.write("src/base/lone.h", header)
        self.write("src/base/lone.cc", '#include <string>\n\n#include "base/lone.h"\n')
        self.write(
            "CMakeLists.txt",
            f"""cmake_minimum_required(VERSION 3.25)
project(lone LANGUAGES CXX)
set(SLUICE_BUILD_TESTS ON)
set(SLUICE_PRECOMPILE OFF)
list(APPEND CMAKE_MODULE_PATH "{ROOT}/cmake")
include(SluiceTargets)
include(SluicePrecompiled)
add_subdirectory(src/base)
""",
        )
        self.write("src/base/CMakeLists.txt", "sluice_room(base SOURCES lone.cc HEADERS lone.h)")
        cmake, build = os.environ.get("CMAKE", "cmake"), self.root / "build"
        subprocess.run([cmake, "-G", "Ninja", "-S", self.root, "-B", build], check=True, capture_output=True)
        target = "all_verify_interface_header_sets"
        return subprocess.run([cmake, "--build", build, "--target", target], capture_output=True, text=True)

    def test_a_header_that_needs_another_is_noticed(self):
        result = self.header_check("#pragma once\nstd::string Name();\n")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("lone.h:2:", result.stdout)

    def test_a_header_that_stands_alone_passes(self):
        result = self.header_check("#pragma once\n#include <string>\nstd::string Name();\n")
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
