// SPDX-License-Identifier: Apache-2.0
//
// The replaced operators. Linked only into programs that ask for the count.
#include "tests/hostile/allocations.h"

#include <cstdlib>
#include <new>

namespace {

std::uint64_t allocations = 0;

}  // namespace

std::uint64_t infold::hostile::allocation_count() { return allocations; }

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
