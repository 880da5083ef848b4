// SPDX-License-Identifier: Apache-2.0
//
// Averages gradients that travel compressed. A method encodes each parameter's gradient in fewer
// bits, and a memory keeps what was not sent. Both are chosen by name, such as "shared" and
// "residual". All ranks must make the same choices and pass the same parameters in the same order.
//
// A step that fails changes nothing in the memory. If the caller repeats the step, with this or
// another communicator, the result has the same bits. Only one thread at a time may use a
// Compression.
#pragma once

#include <chrono>
#include <cstddef>
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
#include <infold/compression_steering.h>
#include <infold/result.h>

namespace infold {

struct CompressionOptions {
  using Settings = std::vector<std::pair<std::string, double>>;

  std::string method = "none";
  Settings settings;  // settings that are not listed keep their usual values
  std::string memory = "none";
  Settings memory_settings;
  std::uint64_t seed = 0;  // for random rounding and choices; the same at all ranks
  // Changes a setting as the network changes. Measured times then decide, so the bits may differ
  // between two runs. In each run all ranks still get the same bits.
  std::optional<SteeringOptions> steering = {};
};

// One parameter of a model: its name, its gradient, and the sides of its shape. Methods that treat
// a gradient as a matrix need the sides; without sides a gradient is one row.
struct ParameterView {
  std::string_view name;
  std::span<float> gradient;
  std::span<const std::size_t> sides = {};
};

// The memory of a Compression, for checkpoints. A rank must load what the same rank has saved.
struct CompressionState {
  struct Entry {
    std::string parameter;
    std::string what;  // such as "residual"
    std::vector<float> values;
  };
  int rank = 0;
  int world = 0;
  std::string choice;  // as choice() returns it
  std::vector<Entry> entries;
};

// A parameter that a CompressionState is checked against.
struct ParameterShape {
  std::string name;
  std::vector<std::size_t> sides;  // its gradient's sides; empty: it has one element
};

// Bytes of a rank's codes since the Compression was made, without packet headers.
struct CompressionStatistics {
  std::uint64_t calls = 0;         // calls of average()
  std::uint64_t bytes_before = 0;  // bytes of the gradients
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  // How often a parameter's compressor took another way than its method's own: where sidco's laws
  // miss the wanted number of elements, an exact selection chooses them.
  std::uint64_t fallbacks = 0;
};

struct AverageOptions {
  // The deadline of each collective that the call makes. Zero stands for the communicator's
  // deadline.
  std::chrono::nanoseconds deadline{};
  // A request to stop ends the call, and the job on all ranks, as Handle::cancel() does.
  std::stop_token stop = {};
  // Tells steering how much of the call's time is hidden by the caller's own work. Zero means none,
  // for a caller that waits. If ranks differ, the largest value counts.
  std::chrono::nanoseconds hidden{};
};

class Compression {
 public:
  // An error names the method, memory or setting at fault.
  static Result<Compression> create(const CompressionOptions& options);
  Compression(Compression&& other) noexcept;
  Compression& operator=(Compression&& other) noexcept;
  ~Compression();

  // Replaces each gradient by the compressed mean over all ranks, and blocks until that is done.
  // After an error the gradients are as they were. A mismatch names the rank and the field: method,
  // settings, memory, seed, steering or parameters. A parameter that is no longer passed keeps its
  // memory. The parameters of a model may come in several calls, such as one for each bucket.
  Result<void> average(Communicator& communicator, std::span<const ParameterView> parameters,
                       const AverageOptions& options = {});

  // Sets the learning rate, for memories that add up steps.
  void set_rate(double rate);
  // Returns the choice as text, such as "shared bits=8 block=512, memory residual decay=1". A
  // setting that steering changes is shown with its initial value.
  std::string choice() const;
  CompressionState state() const;
  // Replaces the whole memory. `rank` and `world` must be those of the next communicator. The state
  // must be complete for `parameters`. For other parameters it is checked when average() first gets
  // them. After an error nothing has changed, unless the state of steering is at fault.
  Result<void> load(const CompressionState& state, int rank, int world,
                    std::span<const ParameterShape> parameters = {});
  CompressionStatistics statistics() const;
  // Returns what steering has chosen for the next call of each list of parameters. The vector is
  // empty if nothing is steered.
  std::vector<SteeredCall> steered_calls() const;

 private:
  struct Inside;
  explicit Compression(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace infold
