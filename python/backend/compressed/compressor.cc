// SPDX-License-Identifier: Apache-2.0
#include "python/backend/compressed/compressor.h"

#include <stdexcept>
#include <utility>

namespace infold::pytorch {
namespace {

std::invalid_argument refusal_of(const Error& error) {
  return std::invalid_argument("infold: " + error.message);
}

Compression made(const CompressionOptions& options) {
  Result<Compression> compression = Compression::create(options);
  if (!compression) throw refusal_of(compression.error());
  return *std::move(compression);
}

}  // namespace

Compressor::Compressor(const CompressionOptions& options) : compression_(made(options)) {}

Result<void> Compressor::average(Communicator& communicator,
                                 std::span<const ParameterView> parameters,
                                 const AverageOptions& options) {
  const base::MutexLock lock(mutex_);
  return compression_.average(communicator, parameters, options);
}

Result<void> Compressor::average_alone(std::span<const ParameterView> parameters) {
  const base::MutexLock lock(mutex_);
  if (!alone_) {
    Result<LocalGroup> group = LocalGroup::create({.world = 1});
    if (!group) return tl::unexpected(group.error());
    alone_.emplace(*std::move(group));
  }
  return compression_.average((*alone_)[0], parameters);
}

std::string Compressor::choice() {
  const base::MutexLock lock(mutex_);
  return compression_.choice();
}

void Compressor::set_rate(double rate) {
  const base::MutexLock lock(mutex_);
  compression_.set_rate(rate);
}

CompressionState Compressor::state() {
  const base::MutexLock lock(mutex_);
  return compression_.state();
}

void Compressor::load(const CompressionState& state, int rank, int world,
                      std::span<const ParameterShape> parameters) {
  const base::MutexLock lock(mutex_);
  if (auto loaded = compression_.load(state, rank, world, parameters); !loaded) {
    throw refusal_of(loaded.error());
  }
}

CompressionStatistics Compressor::statistics() {
  const base::MutexLock lock(mutex_);
  return compression_.statistics();
}

std::vector<SteeredCall> Compressor::steered_calls() {
  const base::MutexLock lock(mutex_);
  return compression_.steered_calls();
}

}  // namespace infold::pytorch
