// SPDX-License-Identifier: Apache-2.0
//
// The method `3lc` (Lim 2019, "3LC: lightweight and effective traffic compression"): each element
// becomes -1, 0 or 1 times M, where M is s times the largest magnitude. A larger s makes more zeros
// and therefore fewer bytes. A tensor with a NaN or an infinity becomes NaN.
//
// A code has M (f32), then bytes. A byte below 243 = 3^5 holds five elements as digits to base 3,
// each plus 1. Element j of each fifth of the tensor is in byte j, and the first fifth is the
// highest digit. Loops over bytes therefore read five rows of consecutive elements. A byte with
// five zeros is 121, and 2 to 14 such bytes in a row become one byte from 243 to 255.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include <infold/compressor.h>

#include "compress/magnitudes.h"
#include "compress/methods/methods.h"

namespace infold::compress {
namespace {

constexpr std::size_t kDigits = 5;
constexpr std::uint8_t kBytes = 243;
constexpr std::uint8_t kZeros = 121;
constexpr std::size_t kRunLeast = 2;
constexpr std::size_t kRunMost = 14;

using Digits = std::array<std::int8_t, kDigits>;

constexpr std::array<Digits, kBytes> make_digits() {
  std::array<Digits, kBytes> all{};
  for (std::size_t byte = 0; byte < kBytes; ++byte) {
    std::size_t rest = byte;
    for (std::size_t digit = kDigits; digit-- > 0; rest /= 3) {
      all[byte][digit] = static_cast<std::int8_t>(static_cast<int>(rest % 3) - 1);
    }
  }
  return all;
}
constexpr std::array<Digits, kBytes> kDigitsOf = make_digits();

void append_runs(std::span<const std::uint8_t> bytes, std::vector<std::byte>& code) {
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t run = 0;
    while (run < kRunMost && i + run < bytes.size() && bytes[i + run] == kZeros) ++run;
    const std::size_t passed = std::max<std::size_t>(run, 1);
    code.push_back(run < kRunLeast ? static_cast<std::byte>(bytes[i])
                                   : static_cast<std::byte>(kBytes + run - kRunLeast));
    i += passed;
  }
}

class ThreeLc final : public GatheredCompressor {
 public:
  ThreeLc(std::size_t elements, double s)
      : elements_(elements), bytes_((elements + kDigits - 1) / kDigits), s_(s) {}

 private:
  // The first of the elements that have this digit in their bytes.
  std::size_t first_of(std::size_t digit) const { return std::min(digit * bytes_, elements_); }

  float unit_of(std::span<const float> tensor) const {
    const float largest = largest_magnitude(tensor);
    if (std::isinf(largest)) return std::nanf("");
    const double most = std::numeric_limits<float>::max();
    return static_cast<float>(std::min(most, s_ * double{largest}));
  }

  // The least magnitude that becomes the unit. It is half the unit, rounded up to a float.
  static float half_of(float unit) {
    const double half = double{unit} / 2;
    const auto near = static_cast<float>(half);
    return double{near} < half ? std::nextafter(near, unit) : near;
  }

  void encode(std::span<const float> tensor, const Turn&, std::vector<std::byte>& code) override {
    const float unit = unit_of(tensor);
    code.resize(sizeof(unit));
    std::memcpy(code.data(), &unit, sizeof(unit));
    std::vector<std::uint8_t> bytes(bytes_, unit > 0 ? 0 : kZeros);
    if (unit > 0) fill(tensor, half_of(unit), bytes);
    append_runs(bytes, code);
  }

  void fill(std::span<const float> tensor, float half, std::span<std::uint8_t> bytes) const {
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      const auto row = tensor.subspan(first_of(digit), first_of(digit + 1) - first_of(digit));
      for (std::size_t i = 0; i < row.size(); ++i) {
        const int sign = (row[i] >= half ? 1 : 0) - (row[i] <= -half ? 1 : 0);
        bytes[i] = static_cast<std::uint8_t>(bytes[i] * 3 + sign + 1);
      }
      for (std::size_t i = row.size(); i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::uint8_t>(bytes[i] * 3 + 1);
      }
    }
  }

  bool add(std::span<const std::byte> code, std::span<double> sums) const override {
    float unit = 0;
    if (code.size() < sizeof(unit)) return false;
    std::memcpy(&unit, code.data(), sizeof(unit));
    std::size_t at = 0;
    for (const std::byte each : code.subspan(sizeof(unit))) {
      const auto byte = std::to_integer<std::uint8_t>(each);
      const std::size_t run = byte < kBytes ? 1 : byte - kBytes + kRunLeast;
      if (run > bytes_ - at) return false;
      // Zeros do not change a sum unless they are zero times NaN.
      if (byte < kBytes || !std::isfinite(unit)) {
        for (std::size_t i = at; i < at + run; ++i) {
          add_byte(i, byte < kBytes ? byte : kZeros, double{unit}, sums);
        }
      }
      at += run;
    }
    return at == bytes_;
  }

  // Runs only make a code shorter.
  std::size_t code_bytes_max() const override { return sizeof(float) + bytes_; }

  void add_byte(std::size_t number, std::uint8_t byte, double unit, std::span<double> sums) const {
    for (std::size_t digit = 0; digit < kDigits; ++digit) {
      const std::size_t index = digit * bytes_ + number;
      if (index < first_of(digit + 1)) sums[index] += kDigitsOf[byte][digit] * unit;
    }
  }

  std::size_t elements_;
  std::size_t bytes_;
  double s_;
};

}  // namespace

Method three_lc_method() {
  return {.name = "3lc",
          .summary = "-1, 0 or 1 times one magnitude, five elements a byte, runs of zeros shorter",
          .bias = Bias::contractive,
          .settings = {{.name = "s",
                        .usual = 1,
                        .least = 1,
                        .most = 1.999,
                        .meaning = "what the largest magnitude is multiplied by"}},
          .make = [](const Shape& shape, const Settings& settings) -> std::unique_ptr<Compressor> {
            return std::make_unique<ThreeLc>(shape.elements, settings["s"]);
          }};
}

}  // namespace infold::compress
