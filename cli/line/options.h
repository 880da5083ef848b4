// SPDX-License-Identifier: Apache-2.0
//
// The options of one subcommand, each bound to a variable that holds its default. A bad value is
// refused with the option's name and what it allows. Hides CLI11, whose header alone takes ten
// seconds to compile, behind parser.cc. Used only while subcommands are declared, by one thread.
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

// Inclusive at both ends.
template <typename Number>
struct Range {
  Number low;
  Number high;
};

class Options {
 public:
  // Borrows the parser's node of this subcommand.
  explicit Options(CLI::App& app) : app_(app) {}

  // In all of these, `name` is as typed ("--workers"; without dashes it is a positional argument),
  // and `value` must outlive parsing. `help` is a sentence without a full stop. An option with
  // several names has commas between them ("-n,--iterations"); messages use the first long one.

  void flag(std::string_view name, bool& value, std::string_view help);
  // A flag that may say 0 or 1, too: --check, --check 1.
  void toggle(std::string_view name, std::optional<bool>& value, std::string_view help);
  void text(std::string_view name, std::string& value, std::string_view help);
  void choice(std::string_view name, std::string& value, std::vector<std::string> allowed,
              std::string_view help);
  void real(std::string_view name, double& value, Range<double> allowed, std::string_view help);

  // As cli/line/quantity.h reads them: "10G", "25MB".
  void rate(std::string_view name, double& bits_per_second, Range<double> allowed,
            std::string_view help);
  void bytes(std::string_view name, std::uint64_t& value, Range<std::uint64_t> allowed,
             std::string_view help);
  // One that may stay unset.
  void bytes(std::string_view name, std::optional<std::uint64_t>& value,
             Range<std::uint64_t> allowed, std::string_view help);

  // As io::SocketAddress::parse() reads it, both as typed and as found. May be empty where the
  // default is.
  void address(std::string_view name, std::string& typed, io::SocketAddress& found,
               std::string_view help);

  // May be given more than once, in a syntax of its own: `type` shows it in the help, `allowed`
  // ends "must be". `add` is called for each value in turn and returns false to refuse it.
  void list(std::string_view name, std::string_view type, std::string_view allowed,
            std::string_view help, std::function<bool(const std::string&)> add);

  template <std::unsigned_integral Number>
  void whole(std::string_view name, Number& value, Range<Number> allowed, std::string_view help) {
    whole_number(name, std::to_string(value), {allowed.low, allowed.high}, help,
                 [&value](std::uint64_t parsed) { value = static_cast<Number>(parsed); });
  }
  // One that may stay unset.
  template <std::unsigned_integral Number>
  void whole(std::string_view name, std::optional<Number>& value, Range<Number> allowed,
             std::string_view help) {
    whole_number(name, "", {allowed.low, allowed.high}, help,
                 [&value](std::uint64_t parsed) { value = static_cast<Number>(parsed); });
  }
  // Several, with commas between.
  void text_list(std::string_view name, std::vector<std::string>& values, std::string_view help);
  void whole_list(std::string_view name, std::vector<std::uint64_t>& values,
                  Range<std::uint64_t> allowed, std::string_view help);
  void bytes_list(std::string_view name, std::vector<std::uint64_t>& values,
                  Range<std::uint64_t> allowed, std::string_view help);

  // A file that may give any of the options declared before; what is typed goes before it.
  void config_file(std::string_view name, std::string_view help);
  // Whole lines at the end of the help: commands to copy, and what they do.
  void examples(std::string_view lines);
  // After all of the above: the end of the help, which also says how quantities are written.
  void write_footer();

  // An option declared before that must be given.
  void require(std::string_view name);
  // Two options declared before that cannot be given together.
  void exclude(std::string_view first, std::string_view second);

 private:
  void whole_number(std::string_view name, const std::string& initial, Range<std::uint64_t> allowed,
                    std::string_view help, std::function<void(std::uint64_t)> store);
  void one_size(std::string_view name, const std::string& initial, Range<std::uint64_t> allowed,
                std::string_view help, std::function<void(std::uint64_t)> store);

  CLI::App& app_;
  std::string examples_;
  bool takes_sizes_ = false;
  bool takes_rates_ = false;
};

}  // namespace infold::cli
