// SPDX-License-Identifier: Apache-2.0
//
// An array of fixed size that starts on a cache line and whose numbers begin as zeros. The system
// provides large arrays as untouched pages, so that unused parts cost nothing. A vector would write
// the zeros itself and touch every page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/aligned.h"

namespace infold::base {

template <typename T>
class ZeroedArray {
 public:
  static_assert(std::is_integral_v<T> || std::is_same_v<T, std::byte>);

  ZeroedArray() = default;
  // Throws std::bad_alloc if there is not enough memory, or aborts in builds without exceptions.
  explicit ZeroedArray(std::size_t size)
      : memory_(std::calloc(size * sizeof(T) + kCacheLineBytes, 1)), size_(size) {
    if (!memory_) fail();
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    const std::size_t beyond = address % kCacheLineBytes;
    data_ = reinterpret_cast<T*>(static_cast<std::byte*>(memory_.get()) +
                                 (kCacheLineBytes - beyond) % kCacheLineBytes);
  }
  ZeroedArray(const ZeroedArray& other) : ZeroedArray(other.size_) {
    if (size_ != 0) std::memcpy(data_, other.data_, size_ * sizeof(T));
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : memory_(std::move(other.memory_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  ZeroedArray& operator=(ZeroedArray other) noexcept {
    memory_.swap(other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t size_bytes() const { return size_ * sizeof(T); }

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
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace infold::base
