// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment in which sums are exact: rounding to nearest, subnormals kept, no
// traps. Training frameworks set other modes, and threads inherit them. A guard saves the thread's
// environment, sets this one, and restores the first at its end.
//
// The processor notes whether some operation since the guard began had to round. The note is one
// bit for all of them, which costs less than a comparison for each. A function that uses a guard
// is not inlined, reads its operands after fence() and writes its results before it asks.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace infold::core {

class FpGuard {
 public:
  FpGuard(const FpGuard&) = delete;
  FpGuard& operator=(const FpGuard&) = delete;

  // The compiler moves no load or store across this.
  static void fence() { asm volatile("" ::: "memory"); }

#if defined(__x86_64__)
  FpGuard() : saved_(_mm_getcsr()) {
    _mm_setcsr(kAllMasked);
    fence();
  }
  ~FpGuard() {
    fence();
    _mm_setcsr(saved_);
  }
  bool rounded() const { return has(1U << 5); }
  bool overflowed() const { return has(1U << 3); }
  // From now on nothing has happened.
  void forget() {
    fence();
    _mm_setcsr(kAllMasked);
    fence();
  }

 private:
  // No trap, to nearest, neither flush-to-zero nor denormals-are-zero, no flag.
  static constexpr std::uint32_t kAllMasked = 0x1F80;
  static bool has(std::uint32_t flag) {
    fence();
    return (_mm_getcsr() & flag) != 0;
  }
  std::uint32_t saved_;

#elif defined(__aarch64__)
  FpGuard() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_control_));
    asm volatile("mrs %0, fpsr" : "=r"(saved_status_));
    const std::uint64_t zero = 0;
    asm volatile("msr fpcr, %0" ::"r"(zero));
    forget();
  }
  ~FpGuard() {
    fence();
    asm volatile("msr fpsr, %0" ::"r"(saved_status_));
    asm volatile("msr fpcr, %0" ::"r"(saved_control_));
  }
  bool rounded() const { return has(1U << 4); }
  bool overflowed() const { return has(1U << 2); }
  void forget() {
    fence();
    const std::uint64_t zero = 0;
    asm volatile("msr fpsr, %0" ::"r"(zero) : "memory");
  }

 private:
  static bool has(std::uint64_t flag) {
    std::uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status)::"memory");
    return (status & flag) != 0;
  }
  std::uint64_t saved_control_ = 0;
  std::uint64_t saved_status_ = 0;

#else
  FpGuard() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
    forget();
  }
  ~FpGuard() {
    fence();
    std::fesetenv(&saved_);
  }
  bool rounded() const { return has(FE_INEXACT); }
  bool overflowed() const { return has(FE_OVERFLOW); }
  void forget() {
    fence();
    std::feclearexcept(FE_ALL_EXCEPT);
    fence();
  }

 private:
  static bool has(int flag) {
    fence();
    return std::fetestexcept(flag) != 0;
  }
  std::fenv_t saved_{};
#endif
};

}  // namespace infold::core
