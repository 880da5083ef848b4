// SPDX-License-Identifier: Apache-2.0
#include "compress/method.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include <fmt/format.h>

#include "base/check.h"
#include "base/mutex.h"
#include "compress/methods/methods.h"

namespace infold::compress {
namespace {

constexpr std::size_t kNameLengthMax = 64;

tl::unexpected<Error> refuse(Code code, std::string detail) {
  return tl::unexpected(Error{code, std::move(detail), -1, ""});
}

struct AddedMethods {
  base::Mutex mutex;
  std::deque<Method> methods GUARDED_BY(mutex);  // a deque, so that records do not move
};

AddedMethods& added() {
  static AddedMethods methods;
  return methods;
}

template <typename Methods>
const Method* find_in(const Methods& methods, std::string_view name) {
  const auto found = std::find_if(methods.begin(), methods.end(),
                                  [name](const Method& each) { return each.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

std::optional<Error> problem_of(const Setting& setting, double value, std::string_view method) {
  if (!(value >= setting.least && value <= setting.most)) {
    return Error{Code::out_of_range,
                 fmt::format("{}: {} is {}; the limits are {} to {}", method, setting.name, value,
                             setting.least, setting.most),
                 -1, ""};
  }
  if (setting.is_whole && value != std::floor(value)) {
    return Error{
        Code::invalid_argument,
        fmt::format("{}: {} is {}; it must be a whole number", method, setting.name, value), -1,
        ""};
  }
  return std::nullopt;
}

}  // namespace

Result<Settings> Settings::make(std::span<const Setting> known, const Given& given,
                                std::string_view method) {
  Settings settings;
  for (const Setting& each : known) settings.values_.emplace_back(each.name, each.usual);
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : given) {
    const auto setting = std::find_if(known.begin(), known.end(),
                                      [&](const Setting& each) { return each.name == name; });
    if (setting == known.end()) {
      return refuse(Code::invalid_argument,
                    fmt::format("{} has no setting \"{}\"{}{}", method, name,
                                known.empty() ? "" : "; it has: ", settings.text()));
    }
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      return refuse(Code::invalid_argument, fmt::format("{}: {} is given twice", method, name));
    }
    seen.push_back(name);
    if (auto problem = problem_of(*setting, value, method)) return tl::unexpected(*problem);
    settings.values_[static_cast<std::size_t>(setting - known.begin())].second = value;
  }
  return settings;
}

double Settings::operator[](std::string_view name) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [name](const auto& each) { return each.first == name; });
  CHECK(found != values_.end());
  return found->second;
}

std::string Settings::text() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

const Method* find_method(std::string_view name) {
  {
    AddedMethods& mine = added();
    const base::MutexLock lock(mine.mutex);
    if (const Method* found = find_in(mine.methods, name)) return found;
  }
  return find_in(built_in_methods(), name);
}

Result<void> add_method(Method method) {
  if (method.name.empty() || method.name.size() > kNameLengthMax) {
    return refuse(Code::invalid_argument,
                  fmt::format("a method's name has 1 to {} characters", kNameLengthMax));
  }
  if (!method.make) {
    return refuse(Code::invalid_argument,
                  fmt::format("{} has no function that makes its compressor", method.name));
  }
  AddedMethods& mine = added();
  const base::MutexLock lock(mine.mutex);
  if (find_in(mine.methods, method.name) || find_in(built_in_methods(), method.name)) {
    return refuse(Code::invalid_argument, fmt::format("there is a method {}", method.name));
  }
  mine.methods.push_back(std::move(method));
  return {};
}

std::string method_names() {
  std::string names;
  const auto append = [&names](const Method& each) {
    names += (names.empty() ? "" : ", ") + each.name;
  };
  for (const Method& each : built_in_methods()) append(each);
  AddedMethods& mine = added();
  const base::MutexLock lock(mine.mutex);
  for (const Method& each : mine.methods) append(each);
  return names;
}

}  // namespace infold::compress
