// SPDX-License-Identifier: Apache-2.0
//
// true_sums ELEMENTS [SEED]: sums this many drawn elements in all ways. The exit code is 1 if a sum
// is not the exact one, rounded once.
// true_sums rates CHUNKS: says how many of this many chunks need a second double, or bins.
#include <charconv>
#include <cstdio>
#include <cstring>

#include "tests/true_sums/sweep.h"

namespace {

bool read(const char* text, std::uint64_t& value) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc() && stop == end && value > 0;
}

void print_progress(std::uint64_t elements) {
  std::fprintf(stderr, "true_sums: %llu elements\n", static_cast<unsigned long long>(elements));
}

void print_rates(const char* numbers, const infold::true_sums::Rates& rates) {
  std::printf("%s: of %llu chunks %llu need a second double, %llu bins\n", numbers,
              static_cast<unsigned long long>(rates.chunks),
              static_cast<unsigned long long>(rates.repaired),
              static_cast<unsigned long long>(rates.binned));
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t chunks = 0;
  if (argc == 3 && std::strcmp(argv[1], "rates") == 0 && read(argv[2], chunks)) {
    print_rates("normal", infold::true_sums::rates_of_normal(chunks, 1));
    print_rates("normal x e^(2 x normal)", infold::true_sums::rates_of_heavy_tails(chunks, 1));
    return 0;
  }
  infold::true_sums::SweepOptions options;
  options.progress = print_progress;
  const bool is_sound = (argc == 2 || argc == 3) && read(argv[1], options.elements) &&
                        (argc == 2 || read(argv[2], options.seed));
  if (!is_sound) {
    std::fprintf(stderr,
                 "usage: true_sums ELEMENTS [SEED]\n       true_sums rates CHUNKS\nAll are whole "
                 "numbers above 0.\n");
    return 2;
  }
  const infold::true_sums::SweepReport report = infold::true_sums::sweep(options);
  std::printf("%llu elements in %llu chunks: %llu needed a second double, %llu bins; %s\n",
              static_cast<unsigned long long>(report.elements),
              static_cast<unsigned long long>(report.chunks),
              static_cast<unsigned long long>(report.repaired),
              static_cast<unsigned long long>(report.binned),
              report.wrong.empty() ? "all are rounded right" : report.wrong.c_str());
  return report.wrong.empty() ? 0 : 1;
}
