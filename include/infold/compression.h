// SPDX-License-Identifier: Apache-2.0
//
// Averages of gradients that travel compressed. A method makes fewer bits of each parameter's
// gradient, and a memory keeps what was not sent. Both are chosen by name, such as "shared" and
// "residual". All ranks must choose alike and pass the same parameters in the same order.
//
// A step that fails changes nothing that is remembered. When it is made again, with this or another
// communicator, it has the same bits. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infold/communicator.h>
#include <infold/compression_control.h>
#include <infold/result.h>

namespace infold {

struct CompressionOptions {
  using Settings = std::vector<std::pair<std::string, double>>;

  std::string method = "none";
  Settings settings;  // the others keep their usual values
  std::string memory = "none";
  Settings memory_settings;
  std::uint64_t seed = 0;  // of random rounding and choices; the same at all ranks
  // Changes a setting as the network changes. Then times decide, and two runs have other bits. All
  // ranks have the same bits in any case.
  std::optional<ControlOptions> control = {};
};

// One parameter of a model: its name, its gradient, and the sides of its shape. Methods that see a
// matrix need the sides; without sides a gradient is one row.
struct ParameterView {
  std::string_view name;
  std::span<float> gradient;
  std::span<const std::size_t> sides = {};
};

// What a Compression remembers, for checkpoints. A rank loads what the same rank has saved.
struct CompressionState {
  struct Entry {
    std::string parameter;
    std::string what;  // as in "residual"
    std::vector<float> values;
  };
  int rank = 0;
  int world = 0;
  std::string choice;  // as choice() gives it
  std::vector<Entry> entries;
};

// Bytes of a rank's codes since the compression was made, without headers of packets.
struct CompressionStatistics {
  std::uint64_t calls = 0;         // of average()
  std::uint64_t bytes_before = 0;  // of the gradients
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

struct AverageOptions {
  // Of each collective of the call. Zero: the communicator's.
  std::chrono::nanoseconds deadline{};
  // A request to stop ends the call, and the job on all ranks, as Handle::cancel() does.
  std::stop_token stop = {};
  // For a control: how much of the call's time the caller's own work hides. Zero: nothing, as where
  // the caller waits. Of several ranks the largest counts.
  std::chrono::nanoseconds hidden{};
};

class Compression {
 public:
  // Errors name the method, the memory or the setting.
  static Result<Compression> create(const CompressionOptions& options);
  Compression(Compression&& other) noexcept;
  Compression& operator=(Compression&& other) noexcept;
  ~Compression();

  // Replaces each gradient by the mean over all ranks, as compressed. Blocks. After an error the
  // gradients are as they were. A mismatch names the rank and the field: method, settings, memory,
  // seed, control or parameters. A parameter that is not passed any more keeps what is remembered
  // of it. The parameters of a model may come in several calls, such as a bucket each.
  Result<void> average(Communicator& communicator, std::span<const ParameterView> parameters,
                       const AverageOptions& options = {});

  // The learning rate, for memories that add up steps.
  void set_rate(double rate);
  // As in "shared bits=8 block=512, memory residual decay=1". The setting that a control changes
  // has the value at which it begins.
  std::string choice() const;
  CompressionState state() const;
  // Replaces all that is remembered. `rank` and `world` are those of the communicator to come.
  Result<void> load(const CompressionState& state, int rank, int world);
  CompressionStatistics statistics() const;
  // What the control has chosen for the next call of each list of parameters. Empty without one.
  std::vector<ControlledCall> controlled_calls() const;

 private:
  struct Inside;
  explicit Compression(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace infold
