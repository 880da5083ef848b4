// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target without libFuzzer, so that every build smoke-tests it. It runs the files of
// the corpus folders on the command line, and then inputs from a fixed seed. It does not find rare
// faults, but it shows that targets and corpora still work between real runs of ./dev fuzz.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/prng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// Enough inputs to pass every early return of a decoder, in milliseconds even under a sanitizer.
constexpr int kSeededInputs = 500;
// Larger than the largest datagram of 2048 four-byte elements, so that inputs that are too long are
// tried as well.
constexpr std::size_t kInputBytesMax = 9000;

std::vector<std::filesystem::path> corpus_files(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::exists(argv[i])) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  return files;
}

std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return {text.begin(), text.end()};
}

}  // namespace

int main(int argc, char** argv) {
  const auto files = corpus_files(argc, argv);
  for (const auto& path : files) {
    // Printed before the run, so that the last line names the input if the target crashes.
    std::printf("replay %s\n", path.c_str());
    std::fflush(stdout);
    const auto bytes = read_bytes(path);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }

  infold::base::Prng prng(1);
  for (int i = 0; i < kSeededInputs; ++i) {
    // Half of the inputs are short, because most formats decide in their first bytes.
    const std::size_t limit = i % 2 == 0 ? 128 : kInputBytesMax;
    std::vector<std::uint8_t> bytes(prng.below(limit + 1));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(prng.next());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("replayed %zu corpus files and %d seeded inputs\n", files.size(), kSeededInputs);
  return 0;
}
