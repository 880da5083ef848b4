// SPDX-License-Identifier: Apache-2.0
//
// The classes with which you add your own compression methods (compression.h). A compressor encodes
// one parameter's tensor in fewer bits, and makes a mean of what all ranks sent. A Method names a
// compression method and makes its compressors. Built-in methods use the same classes.
//
// A compressor does no I/O; it says what travels, in one or more legs. Each leg is a collective
// that every rank makes with the same travel and, except for gather, the same size.
//
//   begin() -> a leg -> next(its answer) -> a leg -> ... -> next() without a leg -> write_mean()
//
// write_sent() may be called as soon as the last leg is known. A compressor belongs to one
// parameter of one rank, and keeps its memory for the next step. Only commit() changes what it
// remembers between steps, so that a failed step can begin again and give the same bits. It is not
// thread-safe. begin(), next() and write_sent() may throw. The exception then leaves
// Compression::average(), and the step has failed; the other ranks wait until this rank leaves.
#pragma once

#include <algorithm>
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

namespace infold::compress {

// How a leg travels.
enum class Travel : std::uint8_t {
  lanes,   // 32-bit integers, added modulo 2^32
  maxima,  // f32, the largest over all ranks; never a NaN
  floats,  // f32, the exact mean of all ranks, rounded once
  gather,  // bytes of any length, which may differ between ranks; each rank gets all ranks' bytes
  rows,    // f32 of some elements of a tensor; the exact mean of all ranks' tensors, rounded once
};

struct Leg {
  Travel travel = Travel::lanes;
  // Valid until the compressor's next call.
  std::span<const std::byte> sent;
  // For rows: the indices of the sent elements, ascending, and the size of the whole tensor. All
  // other elements are zeros.
  std::span<const std::uint32_t> indices = {};
  std::size_t elements = 0;
  // For gather: the most bytes that any rank's code of this tensor can have, the same at all ranks.
  // If a rank says that its code is longer, all ranks fail before they make room for it. 0 stands
  // for 64 KiB and 16 bytes for each element.
  std::size_t bytes_max = 0;
};

// The answer to a leg, from all ranks. Its memory is valid until write_mean() has returned.
struct Answer {
  // For lanes, maxima and floats: as long as what was sent. For rows: the whole tensor in f32.
  std::span<const std::byte> reduced;
  std::span<const float> floats() const {
    return {reinterpret_cast<const float*>(reduced.data()), reduced.size() / sizeof(float)};
  }
  std::span<const std::uint32_t> integers() const {  // for lanes
    return {reinterpret_cast<const std::uint32_t*>(reduced.data()),
            reduced.size() / sizeof(std::uint32_t)};
  }
  // For gather: what each rank sent, in the order of ranks. The bytes come from other ranks, so
  // check them before use.
  std::span<const std::span<const std::byte>> gathered;
};

// One step of one parameter. A compressor's random numbers depend only on this and on the element's
// index.
struct Turn {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint64_t parameter = 0;  // a hash of its name
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
};

// One thing that a compressor or a memory carries from step to step, for checkpoints.
struct Kept {
  std::string name;
  std::vector<float>* values;
  // If false, a checkpoint must have exactly as many elements as `values` has now.
  bool is_of_any_size = false;
};

class Compressor {
 public:
  virtual ~Compressor() = default;

  // Borrows the tensor until commit() or the next begin(). The tensor must have as many elements as
  // the compressor was made for.
  virtual Leg begin(std::span<const float> tensor, const Turn& turn) = 0;
  // Returns nothing after the last leg. It also returns nothing if a gathered answer's bytes are
  // not a code of this method; is_sound() is false then.
  virtual std::optional<Leg> next(const Answer& answer) = 0;
  virtual bool is_sound() const { return true; }
  // Writes the mean over all ranks.
  virtual void write_mean(std::span<float> mean) = 0;
  // Writes what write_mean() would write if all ranks had sent what this rank sent.
  virtual void write_sent(std::span<float> sent) const = 0;
  // Whether the step used a fallback, because the method's own way did not fit the tensor. For
  // statistics.
  virtual bool fell_back() const { return false; }
  // Called when the step has succeeded.
  virtual void commit() {}
  virtual std::vector<Kept> kept() { return {}; }
};

// The base class of compressors whose codes an aggregator cannot add. Each rank gets all ranks'
// codes, decodes them and adds the values in the order of ranks. It adds in f64, so that the
// rounding error of the sum stays below the error of any code.
class GatheredCompressor : public Compressor {
 public:
  Leg begin(std::span<const float> tensor, const Turn& turn) final {
    elements_ = tensor.size();
    code_.clear();
    encode(tensor, turn, code_);
    return {.travel = Travel::gather, .sent = code_, .bytes_max = code_bytes_max()};
  }
  std::optional<Leg> next(const Answer& answer) final {
    sums_.assign(elements_, 0.0);
    world_ = answer.gathered.size();
    is_sound_ = std::all_of(answer.gathered.begin(), answer.gathered.end(),
                            [this](auto code) { return add(code, sums_); });
    return std::nullopt;
  }
  bool is_sound() const final { return is_sound_; }
  void write_mean(std::span<float> mean) override {
    const auto divisor = static_cast<double>(world_);
    std::transform(sums_.begin(), sums_.end(), mean.begin(),
                   [divisor](double sum) { return static_cast<float>(sum / divisor); });
  }
  void write_sent(std::span<float> sent) const final {
    std::vector<double> values(elements_);
    add(code_, values);
    std::transform(values.begin(), values.end(), sent.begin(),
                   [](double value) { return static_cast<float>(value); });
  }

 protected:
  // Appends the code of the tensor.
  virtual void encode(std::span<const float> tensor, const Turn& turn,
                      std::vector<std::byte>& code) = 0;
  // Adds the values that a code of any rank stands for. Returns false if the bytes are not a code
  // of a tensor of this size; the sums mean nothing then.
  virtual bool add(std::span<const std::byte> code, std::span<double> sums) const = 0;
  // See Leg::bytes_max.
  virtual std::size_t code_bytes_max() const { return 0; }

  std::span<const double> sums() const { return sums_; }
  std::size_t world() const { return world_; }

 private:
  std::size_t elements_ = 0;
  std::size_t world_ = 1;
  std::vector<std::byte> code_;  // this rank's
  std::vector<double> sums_;
  bool is_sound_ = true;
};

// One number that a caller may set.
struct Setting {
  std::string name;
  double usual = 0;
  double least = 0;
  double most = 0;
  bool is_whole = false;
  std::string meaning;
};

// The values of a method's settings: the given value, or else the usual one.
class Settings {
 public:
  using Given = std::vector<std::pair<std::string, double>>;

  // Fails if a setting is unknown, given twice, not whole, or outside its limits; the error names
  // it.
  static Result<Settings> make(std::span<const Setting> known, const Given& given,
                               std::string_view method);

  // Requires: the method has a setting of this name.
  double operator[](std::string_view name) const;
  // Returns the settings as text, such as "bits=4 bucket=512". Empty without settings.
  std::string text() const;

 private:
  Given values_;
};

// The parameter that a compressor is made for.
struct Shape {
  std::size_t elements = 0;
  std::vector<std::size_t> sides;  // as the model has them; empty: one side of all elements
};

// Says what is known about C(x), the tensor that the other ranks see instead of x.
enum class Bias : std::uint8_t {
  none,         // C(x) = x except for rounding
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
  // The bits that a rank sends for a tensor in a job of `world` ranks, without packet headers.
  // Reports use this formula. Absent: the number depends on the tensor's values.
  std::function<double(const Shape&, const Settings&, std::uint32_t world)> formula_bits;
  // For an unbiased method: an upper bound on the mean of |C(x) - x|^2, relative to |x|^2. Absent:
  // the settings give no bound.
  std::function<double(const Shape&, const Settings&)> variance;
  // For a contractive method that some settings make so coarse that it is not contractive any more:
  // the same bound. Such settings are refused beside a memory that adds up errors. Absent: all
  // settings are contractive.
  std::function<double(const Settings&)> error_share;
  std::function<std::unique_ptr<Compressor>(const Shape&, const Settings&)> make;
  // Checks further conditions, such as a limit on the number of ranks. Absent: there are none.
  std::function<std::optional<Error>(const Shape&, const Settings&, std::uint32_t world)> check;
  // Whether the state that a compressor keeps from step to step also fits a compressor with other
  // settings, so that steering may change them.
  bool kept_fits_all_settings = false;
};

// Registers a method under its name, for the rest of the process. Fails if the name is taken, empty
// or longer than 64 characters, or if `make` is missing. Any thread may call it.
Result<void> add_method(Method method);

}  // namespace infold::compress
