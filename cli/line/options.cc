// SPDX-License-Identifier: Apache-2.0
#include "cli/line/options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/line/config_file.h"
#include "cli/line/quantity.h"
#include "cli/line/usage.h"
#include "io/address/socket_address.h"

namespace infold::cli {
namespace {

template <typename Number>
std::optional<Number> parse_in(const std::string& typed, Range<Number> allowed) {
  Number value{};
  const char* end = typed.data() + typed.size();
  const auto [stop, error] = std::from_chars(typed.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  // Written so that NaN is refused, because every comparison with NaN is false.
  if (!(value >= allowed.low && value <= allowed.high)) return std::nullopt;
  return value;
}

// Returns the words between commas, without empty ones.
std::vector<std::string> split_list(std::string_view typed) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start < typed.size();) {
    const std::size_t comma = std::min(typed.find(',', start), typed.size());
    if (comma > start) words.emplace_back(typed.substr(start, comma - start));
    start = comma + 1;
  }
  return words;
}

std::optional<std::uint64_t> parse_bytes_in(const std::string& typed,
                                            Range<std::uint64_t> allowed) {
  const auto parsed = parse_bytes(typed);
  if (!parsed || *parsed < allowed.low || *parsed > allowed.high) return std::nullopt;
  return parsed;
}

// Returns false and leaves `values` unchanged if a word is wrong or missing.
template <typename Read>
bool read_list(const std::string& typed, std::vector<std::uint64_t>& values, Read&& read) {
  std::vector<std::uint64_t> parsed;
  if (("," + typed + ",").find(",,") != std::string::npos) return false;
  for (const std::string& one : split_list(typed)) {
    const auto value = read(one);
    if (!value) return false;
    parsed.push_back(*value);
  }
  values = std::move(parsed);
  return true;
}

// Returns "--iterations" for "-n,--iterations,--iters", and "--rank" for "--rank".
std::string shown_name(std::string_view names) {
  const std::vector<std::string> all = split_list(names);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const std::string& each) { return each.starts_with("--"); });
  return found == all.end() ? std::string(names) : *found;
}

// Completes the message "must be ..." for a file, a folder or the first part of a name.
constexpr const char* kPath = "a path";

[[noreturn]] void refuse_value(const std::string& option, const std::string& allowed,
                               const std::string& value, const std::string& hint = "") {
  throw CLI::ValidationError(fmt::format("{} must be {}, not '{}'{}", option, allowed, value, hint),
                             CLI::ExitCodes::ValidationError);
}

// Returns what to write in place of a value that was refused, or an empty text.
using Hint = std::function<std::string(const std::string& value)>;

std::string no_hint(const std::string&) { return ""; }

std::string hint_of_real(const std::string& value) {
  if (!value.ends_with('%')) return "";
  const auto percent = parse_in<double>(value.substr(0, value.size() - 1), {0, 100});
  return percent ? fmt::format("; write {:g} for {}", *percent / 100, value) : "";
}

// Adds an option with a callback for each of its values. The callback returns false to refuse a
// value. The message then names the option and `allowed`, for instance "a whole number from 2 to
// 64", and gives a hint.
CLI::Option* add_values(CLI::App& app, std::string_view name, std::string_view help,
                        const std::string& type, const std::string& allowed,
                        std::function<bool(const std::string&)> store, Hint hint = no_hint) {
  CLI::Option* option = app.add_option(
      std::string(name),
      [=, option_name = shown_name(name)](const CLI::results_t& typed) {
        for (const std::string& value : typed) {
          if (!store(value)) refuse_value(option_name, allowed, value, hint(value));
        }
        return true;
      },
      std::string(help));
  option->type_name(type);
  return option;
}

void add_value(CLI::App& app, std::string_view name, std::string_view help,
               const std::string& initial, const std::string& type, const std::string& allowed,
               std::function<bool(const std::string&)> store, Hint hint = no_hint) {
  const std::string shown =
      initial.empty() ? std::string(help) : fmt::format("{} (default {})", help, initial);
  add_values(app, name, shown, type, allowed, std::move(store), hint);
}

}  // namespace

void Options::flag(std::string_view name, bool& value, std::string_view help) {
  app_.add_flag(std::string(name), value, std::string(help));
}

void Options::toggle(std::string_view name, std::optional<bool>& value, std::string_view help) {
  // CLI11 passes an empty text for an option that is given without a value.
  static const std::string kAlone;
  add_values(app_, name, help, "0|1", "0 or 1", [&value](const std::string& typed) {
    if (typed != kAlone && typed != "0" && typed != "1") return false;
    value = typed != "0";
    return true;
  })->expected(0, 1);
}

void Options::text(std::string_view name, std::string& value, std::string_view help,
                   std::string_view type) {
  add_value(app_, name, help, value, std::string(type), "text", [&value](const std::string& typed) {
    value = typed;
    return true;
  });
}

void Options::path(std::string_view name, std::string& value, std::string_view help,
                   std::string_view type) {
  add_value(app_, name, help, value, std::string(type), kPath, [&value](const std::string& typed) {
    value = typed;
    return !typed.empty();
  });
}

void Options::checked(std::string_view name, std::string& typed, std::string_view help,
                      const Take& take) {
  const auto read = [option = std::string(name), &typed, take](const std::string& value) {
    const std::string fault = take(value);
    if (!fault.empty()) {
      throw CLI::ValidationError(fmt::format("{}: {}", option, fault),
                                 CLI::ExitCodes::ValidationError);
    }
    typed = value;
    return true;
  };
  read(typed);
  add_value(app_, name, help, typed, "TEXT", "text that can be read", read);
}

void Options::address(std::string_view name, std::string& typed, io::SocketAddress& found,
                      std::string_view help) {
  checked(name, typed, help,
          [may_be_empty = typed.empty(), &found](const std::string& value) -> std::string {
            const auto parsed = io::SocketAddress::parse(value, "address");
            found = parsed.value_or(io::SocketAddress());
            if (parsed || (may_be_empty && value.empty())) return "";
            return fmt::format("'{}' {}", value, parsed.error().detail);
          });
}

void Options::choice(std::string_view name, std::string& value, std::vector<std::string> allowed,
                     std::string_view help) {
  const std::string joined = fmt::format("{}", fmt::join(allowed, "|"));
  const std::string sentence = fmt::format("one of {}", fmt::join(allowed, ", "));
  add_value(
      app_, name, help, value, joined, sentence,
      [=, &value](const std::string& typed) {
        if (std::find(allowed.begin(), allowed.end(), typed) == allowed.end()) return false;
        value = typed;
        return true;
      },
      [allowed](const std::string& typed) {
        const std::string_view meant = closest(typed, allowed);
        return meant.empty() ? "" : fmt::format("; did you mean {}?", meant);
      });
}

void Options::rate(std::string_view name, double& bits_per_second, Range<double> allowed,
                   std::string_view help) {
  takes_rates_ = true;
  const std::string low = short_rate(allowed.low), high = short_rate(allowed.high);
  add_value(
      app_, name, help, short_rate(bits_per_second), low + ".." + high,
      fmt::format("a rate from {} to {} such as 10G or 100mbit", low, high),
      [=, &bits_per_second](const std::string& typed) {
        const auto parsed = parse_rate(typed);
        if (!parsed || *parsed < allowed.low || *parsed > allowed.high) return false;
        bits_per_second = *parsed;
        return true;
      },
      hint_of_rate);
}

void Options::rate_or_none(std::string_view name, double& bits_per_second, Range<double> allowed,
                           double unlimited, std::string_view help) {
  const bool is_limited = bits_per_second != unlimited;
  rate_or_none(name, is_limited ? short_rate(bits_per_second) : "none", allowed, help,
               [=, &bits_per_second](std::optional<double> rate) {
                 bits_per_second = rate.value_or(unlimited);
               });
}

void Options::rate_or_none(std::string_view name, std::optional<double>& bits_per_second,
                           Range<double> allowed, double unlimited, std::string_view help) {
  rate_or_none(name, "", allowed, help, [=, &bits_per_second](std::optional<double> rate) {
    bits_per_second = rate.value_or(unlimited);
  });
}

void Options::rate_or_none(std::string_view name, const std::string& initial, Range<double> allowed,
                           std::string_view help,
                           const std::function<void(std::optional<double>)>& store) {
  takes_rates_ = true;
  const std::string low = short_rate(allowed.low), high = short_rate(allowed.high);
  add_value(
      app_, name, help, initial, fmt::format("none|{}..{}", low, high),
      fmt::format("none, or a rate from {} to {} such as 10G or 100mbit", low, high),
      [=](const std::string& typed) {
        const auto parsed = parse_rate(typed);
        const bool fits = parsed && *parsed >= allowed.low && *parsed <= allowed.high;
        if (fits || typed == "none") store(fits ? parsed : std::nullopt);
        return fits || typed == "none";
      },
      hint_of_rate);
}

void Options::one_size(std::string_view name, const std::string& initial,
                       Range<std::uint64_t> allowed, std::string_view help,
                       std::function<void(std::uint64_t)> store) {
  takes_sizes_ = true;
  const std::string low = short_bytes(allowed.low), high = short_bytes(allowed.high);
  add_value(app_, name, help, initial, low + ".." + high,
            fmt::format("a size from {} to {} such as 4KB or 25MiB", low, high),
            [=](const std::string& typed) {
              const auto parsed = parse_bytes_in(typed, allowed);
              if (parsed) store(*parsed);
              return parsed.has_value();
            });
}

void Options::bytes(std::string_view name, std::uint64_t& value, Range<std::uint64_t> allowed,
                    std::string_view help) {
  one_size(name, short_bytes(value), allowed, help,
           [&value](std::uint64_t parsed) { value = parsed; });
}

void Options::bytes(std::string_view name, std::optional<std::uint64_t>& value,
                    Range<std::uint64_t> allowed, std::string_view help) {
  one_size(name, "", allowed, help, [&value](std::uint64_t parsed) { value = parsed; });
}

void Options::list(std::string_view name, std::string_view type, std::string_view allowed,
                   std::string_view help, std::function<bool(const std::string&)> add) {
  add_values(app_, name, fmt::format("{}; may be repeated", help), std::string(type),
             std::string(allowed), std::move(add))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Options::files(std::string_view name, std::vector<std::string>& values,
                    std::string_view help) {
  add_values(app_, name, help, "FILE", kPath,
             [&values](const std::string& typed) {
               values.push_back(typed);
               return !typed.empty();
             })
      ->required()
      ->allow_extra_args()
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Options::real(std::string_view name, double& value, Range<double> allowed,
                   std::string_view help) {
  real_number(name, fmt::format("{}", value), allowed, help,
              [&value](double parsed) { value = parsed; });
}

void Options::real(std::string_view name, std::optional<double>& value, Range<double> allowed,
                   std::string_view help) {
  real_number(name, "", allowed, help, [&value](double parsed) { value = parsed; });
}

void Options::real_number(std::string_view name, const std::string& initial, Range<double> allowed,
                          std::string_view help, std::function<void(double)> store) {
  add_value(
      app_, name, help, initial, fmt::format("{}..{}", allowed.low, allowed.high),
      fmt::format("a number from {} to {}", allowed.low, allowed.high),
      [=](const std::string& typed) {
        const auto parsed = parse_in(typed, allowed);
        if (parsed) store(*parsed);
        return parsed.has_value();
      },
      hint_of_real);
}

void Options::whole_number(std::string_view name, const std::string& initial,
                           Range<std::uint64_t> allowed, std::string_view help,
                           std::function<void(std::uint64_t)> store) {
  // A seed may be any 64-bit number. A limit of twenty digits would only clutter the help.
  const bool open = allowed.high == std::numeric_limits<std::uint64_t>::max();
  add_value(app_, name, help, initial,
            open ? "NUMBER" : fmt::format("{}..{}", allowed.low, allowed.high),
            fmt::format("a whole number from {} to {}", allowed.low, allowed.high),
            [=](const std::string& typed) {
              const auto parsed = parse_in(typed, allowed);
              if (parsed) store(*parsed);
              return parsed.has_value();
            });
}

void Options::text_list(std::string_view name, std::vector<std::string>& values,
                        std::string_view help) {
  add_value(app_, name, help, fmt::format("{}", fmt::join(values, ",")), "LIST",
            "words with commas between", [&values](const std::string& typed) {
              values = split_list(typed);
              return true;
            });
}

void Options::whole_list(std::string_view name, std::vector<std::uint64_t>& values,
                         Range<std::uint64_t> allowed, std::string_view help) {
  add_value(
      app_, name, help, fmt::format("{}", fmt::join(values, ",")),
      fmt::format("{}..{},...", allowed.low, allowed.high),
      fmt::format("whole numbers from {} to {} with commas between", allowed.low, allowed.high),
      [=, &values](const std::string& typed) {
        return read_list(typed, values,
                         [allowed](const std::string& one) { return parse_in(one, allowed); });
      });
}

void Options::bytes_list(std::string_view name, std::vector<std::uint64_t>& values,
                         Range<std::uint64_t> allowed, std::string_view help) {
  takes_sizes_ = true;
  const std::string low = short_bytes(allowed.low), high = short_bytes(allowed.high);
  add_value(app_, name, help, fmt::format("{}", fmt::join(values, ",")), low + ".." + high + ",...",
            fmt::format("sizes from {} to {} such as 4KB or 25MiB, with commas between", low, high),
            [=, &values](const std::string& typed) {
              return read_list(typed, values, [allowed](const std::string& one) {
                return parse_bytes_in(one, allowed);
              });
            });
}

// The callback runs after all options that were declared before it, whether they were typed or not,
// because CLI11 reads all words first and then calls back in the order of declaration.
void Options::config_file(std::string_view name, std::string_view help) {
  const std::string option_name(name);
  CLI::Option* const option = app_.add_option(
      option_name,
      [&app = app_, option_name](const CLI::results_t& typed) {
        const auto refuse = [&](const std::string& what) {
          throw CLI::ValidationError(fmt::format("{}: {}", option_name, what),
                                     CLI::ExitCodes::ValidationError);
        };
        if (typed.back().empty()) refuse_value(option_name, kPath, "");
        const auto read = read_config_file(typed.back());
        if (!read) refuse(read.error());
        for (const ConfigValue& each : *read) {
          const std::string& key = each.option;
          CLI::Option* const meant = key == option_name ? nullptr : app.get_option_no_throw(key);
          const std::string place = fmt::format("{}:{}", typed.back(), each.line);
          if (meant == nullptr) refuse(fmt::format("{}: {}", place, no_such_option(key, app)));
          if (meant->count() > 0) continue;
          meant->add_result(each.value);
          try {
            meant->run_callback();
          } catch (const CLI::Error& error) {
            refuse(fmt::format("{}: {}", place, error.what()));
          }
        }
        return true;
      },
      std::string(help));
  option->type_name("FILE");
}

std::function<bool()> Options::is_given(std::string_view name) const {
  return [option = app_.get_option(std::string(name))] { return option->count() > 0; };
}

void Options::require(std::string_view name) { app_.get_option(std::string(name))->required(); }

void Options::need(std::string_view first, std::string_view second) {
  app_.get_option(std::string(first))->needs(app_.get_option(std::string(second)));
}

void Options::exclude(std::string_view first, std::string_view second) {
  app_.get_option(std::string(first))->excludes(app_.get_option(std::string(second)));
}

void Options::examples(std::string_view lines) { examples_ = lines; }

void Options::write_footer() {
  std::string footer;
  if (takes_sizes_) footer += fmt::format("\n{}", kSizesSentence);
  if (takes_rates_) footer += fmt::format("\n{}", kRatesSentence);
  if (!footer.empty()) footer += "\n";
  if (!examples_.empty()) footer += "\nExamples:\n" + examples_;
  app_.footer(footer);
}

}  // namespace infold::cli
