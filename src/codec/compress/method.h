// SPDX-License-Identifier: Apache-2.0
//
// The record of a compression method: its name, its settings with their limits, what is known of
// its error, and how its compressor is made. Methods of users have the same record as built-in
// ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infold/result.h>

#include "codec/compress/compressor.h"

namespace infold::codec {

// One number that a caller may set.
struct Setting {
  std::string name;
  double usual = 0;
  double least = 0;
  double most = 0;
  bool is_whole = false;
  std::string meaning;
};

// The values of a method's settings: as given, or the usual ones.
class Settings {
 public:
  using Given = std::vector<std::pair<std::string, double>>;

  // Errors name the setting: unknown, given twice, not whole, or outside its limits.
  static Result<Settings> make(std::span<const Setting> known, const Given& given,
                               std::string_view method);

  // Requires: the method has a setting of this name.
  double operator[](std::string_view name) const;
  // As in "bits=4 bucket=512". Empty without settings.
  std::string text() const;

 private:
  Given values_;
};

// The parameter that a compressor is made for.
struct Shape {
  std::size_t elements = 0;
  std::vector<std::size_t> sides;  // as the model has them; empty: one side of all elements
};

// What is known of C(x), the tensor that others see.
enum class Bias : std::uint8_t {
  none,         // C(x) = x but for rounding
  unbiased,     // the mean of C(x) over random numbers is x; its error may be larger than x
  contractive,  // the error is smaller than x, so that a residual converges
  direction,    // only signs or directions are kept, and the size has no meaning
  unknown,      // no bound holds for all tensors
};

struct Method {
  std::string name;
  std::string summary;  // one line
  Bias bias = Bias::contractive;
  std::vector<Setting> settings;
  // Bits that a rank sends of a tensor in a job of `world` ranks, by the method's formula, without
  // headers of packets. For reports. Absent: the tensor's values decide.
  std::function<double(const Shape&, const Settings&, std::uint32_t world)> formula_bits;
  // Of an unbiased method: the most that |C(x) - x|^2 is of |x|^2 on average. Absent: not bounded
  // by the settings.
  std::function<double(const Shape&, const Settings&)> variance;
  std::function<std::unique_ptr<Compressor>(const Shape&, const Settings&)> make;
  // What else has to hold, such as ratio x elements >= 1. Absent: nothing.
  std::function<std::optional<Error>(const Shape&, const Settings&, std::uint32_t world)> check;
};

// Built-in methods, in the order of the documentation.
std::span<const Method> built_in_methods();
// Null if there is none. Methods that users have added come first. Valid until the process ends.
const Method* find_method(std::string_view name);
// Refused if the name is taken, empty or longer than 64 characters. Any thread may call it.
Result<void> add_method(Method method);
// Names of all methods, with commas.
std::string method_names();

}  // namespace infold::codec
