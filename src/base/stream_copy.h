// SPDX-License-Identifier: Apache-2.0
//
// A copy that bypasses the caches, for bytes that this processor does not read again soon. An
// ordinary store first reads the cache line that it overwrites. If another processor has that line,
// the read takes as long as the copy itself, or several times as long if the two share no cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "base/aligned.h"

namespace infold::base {

// Until finish_streams(), other threads may see later stores before they see the copy.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % kCacheLineBytes;
  const std::size_t head = (kCacheLineBytes - beyond) % kCacheLineBytes;
  if (bytes >= head + kCacheLineBytes) {
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= kCacheLineBytes; bytes -= kCacheLineBytes) {
      auto* const line = reinterpret_cast<__m128i*>(to);
      const auto* const source = reinterpret_cast<const __m128i*>(from);
      const __m128i a = _mm_loadu_si128(source);
      const __m128i b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2);
      const __m128i d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(line, a);
      _mm_stream_si128(line + 1, b);
      _mm_stream_si128(line + 2, c);
      _mm_stream_si128(line + 3, d);
      to += kCacheLineBytes;
      from += kCacheLineBytes;
    }
  }
#endif
  std::memcpy(to, from, bytes);
}

// Makes all earlier copies visible to other threads before any later store.
inline void finish_streams() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace infold::base
