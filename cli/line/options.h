// SPDX-License-Identifier: Apache-2.0
//
// The options of one subcommand, each bound to a variable that holds its default. A bad value is
// refused with a message that names the option and the allowed values. Hides CLI11 behind
// options.cc, because CLI11's header alone takes ten seconds to compile. Used by one thread, only
// while subcommands are declared.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/address/socket_address.h"

namespace CLI {
class App;
}

namespace infold::cli {

// Both ends belong to the range.
template <typename Number>
struct Range {
  Number low;
  Number high;
};

class Options {
 public:
  // Borrows the parser's node for this subcommand.
  explicit Options(CLI::App& app) : app_(app) {}

  // In all these functions, `name` is the option as typed ("--ranks"); without dashes it is a
  // positional argument. `value` must outlive parsing. `help` is a sentence without a full stop. An
  // option with several names separates them by commas ("-n,--iterations"), and messages use the
  // first long one.

  void flag(std::string_view name, bool& value, std::string_view help);
  // A flag that also accepts 0 or 1: --check, --check 1.
  void toggle(std::string_view name, std::optional<bool>& value, std::string_view help);
  // `type` tells the reader of the help what to type.
  void text(std::string_view name, std::string& value, std::string_view help,
            std::string_view type = "TEXT");
  // The path of a file or folder, or the first part of a path. A path that is typed must not be
  // empty.
  void path(std::string_view name, std::string& value, std::string_view help,
            std::string_view type = "FILE");
  void choice(std::string_view name, std::string& value, std::vector<std::string> allowed,
              std::string_view help);
  void real(std::string_view name, double& value, Range<double> allowed, std::string_view help);
  // A number that may stay unset.
  void real(std::string_view name, std::optional<double>& value, Range<double> allowed,
            std::string_view help);

  // Quantities in the syntax of cli/line/quantity.h: "10G", "25MB".
  void rate(std::string_view name, double& bits_per_second, Range<double> allowed,
            std::string_view help);
  // Also accepts "none", which stands for `unlimited`.
  void rate_or_none(std::string_view name, double& bits_per_second, Range<double> allowed,
                    double unlimited, std::string_view help);
  // The same for a rate that may stay unset.
  void rate_or_none(std::string_view name, std::optional<double>& bits_per_second,
                    Range<double> allowed, double unlimited, std::string_view help);
  void bytes(std::string_view name, std::uint64_t& value, Range<std::uint64_t> allowed,
             std::string_view help);
  // A size that may stay unset.
  void bytes(std::string_view name, std::optional<std::uint64_t>& value,
             Range<std::uint64_t> allowed, std::string_view help);

  // Text that `take` reads at once. It returns what is wrong with the text, as the end of a
  // sentence that begins with the option, or nothing.
  using Take = std::function<std::string(const std::string&)>;
  void checked(std::string_view name, std::string& typed, std::string_view help, const Take& take);

  // An address in the syntax of io::SocketAddress::parse(). `typed` receives the text and `found`
  // the address. The text may be empty if the default is empty.
  void address(std::string_view name, std::string& typed, io::SocketAddress& found,
               std::string_view help);

  // An option that may be given more than once, in a syntax of its own. `type` shows the syntax in
  // the help. `allowed` completes the message "must be ...". `add` is called for each value in
  // turn, and returns false to refuse it.
  void list(std::string_view name, std::string_view type, std::string_view allowed,
            std::string_view help, std::function<bool(const std::string&)> add);

  // The names of one or more files, as positional arguments.
  void files(std::string_view name, std::vector<std::string>& values, std::string_view help);

  template <std::unsigned_integral Number>
  void whole(std::string_view name, Number& value, Range<Number> allowed, std::string_view help) {
    whole_number(name, std::to_string(value), {allowed.low, allowed.high}, help,
                 [&value](std::uint64_t parsed) { value = static_cast<Number>(parsed); });
  }
  // A number that may stay unset.
  template <std::unsigned_integral Number>
  void whole(std::string_view name, std::optional<Number>& value, Range<Number> allowed,
             std::string_view help) {
    whole_number(name, "", {allowed.low, allowed.high}, help,
                 [&value](std::uint64_t parsed) { value = static_cast<Number>(parsed); });
  }
  // Several values, separated by commas.
  void text_list(std::string_view name, std::vector<std::string>& values, std::string_view help);
  void whole_list(std::string_view name, std::vector<std::uint64_t>& values,
                  Range<std::uint64_t> allowed, std::string_view help);
  void bytes_list(std::string_view name, std::vector<std::uint64_t>& values,
                  Range<std::uint64_t> allowed, std::string_view help);

  // A file that may set any option that was declared before. An option on the command line
  // overrides the file.
  void config_file(std::string_view name, std::string_view help);
  // Whole lines at the end of the help: commands to copy, and what they do.
  void examples(std::string_view lines);
  // Adds the end of the help, which also explains how quantities are written. Call it last.
  void write_footer();

  // Returns a question for run(): whether the command line has an option that was declared before.
  std::function<bool()> is_given(std::string_view name) const;
  // Makes an option mandatory. Requires: it was declared before.
  void require(std::string_view name);
  // Forbids giving the first of two options without the second. Both were declared before.
  void need(std::string_view first, std::string_view second);
  // Forbids giving both of two options that were declared before.
  void exclude(std::string_view first, std::string_view second);

 private:
  void whole_number(std::string_view name, const std::string& initial, Range<std::uint64_t> allowed,
                    std::string_view help, std::function<void(std::uint64_t)> store);
  void rate_or_none(std::string_view name, const std::string& initial, Range<double> allowed,
                    std::string_view help, const std::function<void(std::optional<double>)>& store);
  void real_number(std::string_view name, const std::string& initial, Range<double> allowed,
                   std::string_view help, std::function<void(double)> store);
  void one_size(std::string_view name, const std::string& initial, Range<std::uint64_t> allowed,
                std::string_view help, std::function<void(std::uint64_t)> store);

  CLI::App& app_;
  std::string examples_;
  bool takes_sizes_ = false;
  bool takes_rates_ = false;
};

}  // namespace infold::cli
