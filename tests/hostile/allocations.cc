// SPDX-License-Identifier: Apache-2.0
//
// Replaces operator new and operator delete. Only programs that count allocations link this file.
#include "tests/hostile/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> allocations{0};  // allocations by all threads

}  // namespace

std::uint64_t infold::hostile::allocation_count() { return allocations.load(); }

void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
