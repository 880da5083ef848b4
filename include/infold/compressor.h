// SPDX-License-Identifier: Apache-2.0
//
// For compression methods of your own (compression.h). A compressor makes fewer bits of one
// parameter's tensor, and a mean of what all ranks sent. A record names the method and makes its
// compressors. Built-in methods use the same classes.
//
// A compressor says what travels, in one or more legs; it does no I/O. Each leg is a collective
// that every rank makes with the same travel and, but for gather, the same size.
//
//   begin() -> a leg -> next(its answer) -> a leg -> ... -> next() without a leg -> write_mean()
//
// write_sent() may be called from the moment of the last leg on. A compressor belongs to one
// parameter of one rank, and keeps its memory for the next step. What it remembers over steps
// changes with commit() alone. So a step that failed can begin again, with the same bits. Not
// thread-safe. begin(), next() and write_sent() may throw. The exception leaves
// Compression::average() and the step has failed; the other ranks wait until this rank leaves.
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

namespace infold::codec {

// How a leg travels.
enum class Travel : std::uint8_t {
  lanes,   // 32-bit integers, added modulo 2^32
  maxima,  // f32, the largest of all ranks; never a NaN
  floats,  // f32, the exact mean of all ranks, rounded once
  gather,  // bytes, of any length on each rank; each rank gets all ranks' bytes
  rows,    // f32 of some elements of a tensor; the exact mean of all ranks' tensors, rounded once
};

struct Leg {
  Travel travel = Travel::lanes;
  // Valid until the compressor's next call.
  std::span<const std::byte> sent;
  // Of rows: which elements were sent, ascending, and how many the tensor has. All others are
  // zeros.
  std::span<const std::uint32_t> indices = {};
  std::size_t elements = 0;
};

// Its memory is valid until write_mean() has returned.
struct Answer {
  // Of lanes, maxima and floats: as long as what was sent. Of rows: f32, the whole tensor.
  std::span<const std::byte> reduced;
  std::span<const float> floats() const {
    return {reinterpret_cast<const float*>(reduced.data()), reduced.size() / sizeof(float)};
  }
  std::span<const std::uint32_t> integers() const {  // of lanes
    return {reinterpret_cast<const std::uint32_t*>(reduced.data()),
            reduced.size() / sizeof(std::uint32_t)};
  }
  // Of gather: what each rank sent, in the order of ranks. Peers made it, so nothing in it is sure.
  std::span<const std::span<const std::byte>> gathered;
};

// A step of a parameter. Random numbers of a compressor are a function of this and of an element's
// index, and of nothing else.
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
  // Otherwise a checkpoint's has as many elements as this one.
  bool is_of_any_size = false;
};

class Compressor {
 public:
  virtual ~Compressor() = default;

  // Borrows the tensor until commit() or the next begin(). The tensor has the elements that the
  // compressor was made for.
  virtual Leg begin(std::span<const float> tensor, const Turn& turn) = 0;
  // Empty: there is no further leg. An answer of gather whose bytes are no code of this method
  // gives none, too, and is_sound() is false then.
  virtual std::optional<Leg> next(const Answer& answer) = 0;
  virtual bool is_sound() const { return true; }
  // The mean over all ranks.
  virtual void write_mean(std::span<float> mean) = 0;
  // What write_mean() would write if all ranks had sent what this rank sent.
  virtual void write_sent(std::span<float> sent) const = 0;
  // The step has ended well.
  virtual void commit() {}
  virtual std::vector<Kept> kept() { return {}; }
};

// The base of compressors whose codes no aggregator can add: each rank gets all ranks' codes, and
// adds what they stand for, in the order of ranks. Sums are made in f64, so that their error is
// below that of any code.
class GatheredCompressor : public Compressor {
 public:
  Leg begin(std::span<const float> tensor, const Turn& turn) final {
    elements_ = tensor.size();
    code_.clear();
    encode(tensor, turn, code_);
    return {Travel::gather, code_};
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
  // Adds what a code stands for, of any rank. False: the bytes are no code of a tensor of this
  // size, and the sums mean nothing.
  virtual bool add(std::span<const std::byte> code, std::span<double> sums) const = 0;

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
  // What else has to hold, such as a limit of the number of ranks. Absent: nothing.
  std::function<std::optional<Error>(const Shape&, const Settings&, std::uint32_t world)> check;
};

// Makes a method known by its name, for the rest of the process. Refused if the name is taken,
// empty or longer than 64 characters, and without `make`. Any thread may call it.
Result<void> add_method(Method method);

}  // namespace infold::codec
