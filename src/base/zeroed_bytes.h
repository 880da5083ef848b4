// SPDX-License-Identifier: Apache-2.0
//
// Bytes that begin as zeroes, on a cache line. Their number is set once. Large ones come from the
// system as pages that nobody has touched, so that what is never used costs nothing. A vector
// writes its zeroes itself, which touches every page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/aligned.h"

namespace infold::base {

class ZeroedBytes {
 public:
  ZeroedBytes() = default;
  // Fails as operator new does.
  explicit ZeroedBytes(std::size_t size)
      : memory_(std::calloc(size + kCacheLineBytes, 1)), size_(size) {
    if (!memory_) fail();
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::size_t beyond = address % kCacheLineBytes;
    data_ = static_cast<std::byte*>(memory_.get()) + (kCacheLineBytes - beyond) % kCacheLineBytes;
  }
  ZeroedBytes(const ZeroedBytes& other) : ZeroedBytes(other.size_) {
    if (size_ != 0) std::memcpy(data_, other.data_, size_);
  }
  ZeroedBytes(ZeroedBytes&& other) noexcept
      : memory_(std::move(other.memory_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  ZeroedBytes& operator=(ZeroedBytes other) noexcept {
    memory_.swap(other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  [[noreturn]] static void fail() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
  }

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace infold::base
