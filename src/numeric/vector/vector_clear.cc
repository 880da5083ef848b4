// SPDX-License-Identifier: Apache-2.0
//
// Clears memory by stores that bypass the caches.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector/vector_clear.cc"
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/aligned.h"
#include "numeric/clear.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Requires: whole cache lines.
void clear_lines(std::byte* bytes, std::size_t count) {
  const hn::CappedTag<std::uint8_t, base::kCacheLineBytes> d;
  for (std::size_t at = 0; at < count; at += hn::Lanes(d)) {
    hn::Stream(hn::Zero(d), d, reinterpret_cast<std::uint8_t*>(bytes + at));
  }
  hwy::FlushStream();
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
namespace {

HWY_EXPORT(clear_lines);

}  // namespace

void clear(std::byte* bytes, std::size_t count) {
  if (count == 0) return;
  if (count < kPastCachesBytes) {
    std::memset(bytes, 0, count);
    return;
  }
  const auto place = reinterpret_cast<std::uintptr_t>(bytes) % base::kCacheLineBytes;
  const std::size_t before = (base::kCacheLineBytes - place) % base::kCacheLineBytes;
  const std::size_t after = (count - before) % base::kCacheLineBytes;
  std::memset(bytes, 0, before);
  HWY_DYNAMIC_DISPATCH(clear_lines)(bytes + before, count - before - after);
  std::memset(bytes + count - after, 0, after);
}

}  // namespace infold::numeric
#endif
