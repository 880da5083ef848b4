// SPDX-License-Identifier: Apache-2.0
//
// A vector whose elements start on a cache line, for arrays that vector instructions walk. A
// 64-byte load or store that straddles two lines costs as much as two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace infold::base {

constexpr std::size_t kCacheLineBytes = 64;

template <typename T>
struct CacheLineAllocator {
  using value_type = T;

  CacheLineAllocator() = default;
  template <typename Other>
  constexpr CacheLineAllocator(const CacheLineAllocator<Other>&) {}

  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{kCacheLineBytes}));
  }
  void deallocate(T* memory, std::size_t) {
    ::operator delete(memory, std::align_val_t{kCacheLineBytes});
  }

  template <typename Other>
  friend constexpr bool operator==(const CacheLineAllocator&, const CacheLineAllocator<Other>&) {
    return true;
  }
};

template <typename T>
using CacheLineVector = std::vector<T, CacheLineAllocator<T>>;

}  // namespace infold::base
