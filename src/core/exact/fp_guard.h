// SPDX-License-Identifier: Apache-2.0
//
// The floating-point environment in which sums are exact: it rounds to nearest, keeps subnormals
// and does not trap. Training frameworks set other modes, and threads inherit them. A guard saves
// the thread's environment, sets this one, and restores the old one when it is destroyed.
//
// The processor notes in one bit whether some operation since the guard began had to round, which
// costs less than a comparison for each operation. A function that uses a guard must not be
// inlined, must read its operands after fence(), and must write its results before it asks for the
// bit.
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

  // The compiler does not move loads or stores across this.
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
  // Clears the flags, so that only later operations count.
  void forget() {
    fence();
    _mm_setcsr(kAllMasked);
    fence();
  }

 private:
  // No traps, rounding to nearest, no flush-to-zero, no denormals-are-zero, all flags clear.
  static constexpr std::uint32_t kAllMasked = 0x1F80;
  static bool has(std::uint32_t flag) {
    fence();
    return (_mm_getcsr() & flag) != 0;
  }
  std::uint32_t saved_;

#elif defined(__aarch64__)
  FpGuard() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_fpcr_));
    asm volatile("mrs %0, fpsr" : "=r"(saved_fpsr_));
    const std::uint64_t zero = 0;
    asm volatile("msr fpcr, %0" ::"r"(zero));
    forget();
  }
  ~FpGuard() {
    fence();
    asm volatile("msr fpsr, %0" ::"r"(saved_fpsr_));
    asm volatile("msr fpcr, %0" ::"r"(saved_fpcr_));
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
  std::uint64_t saved_fpcr_ = 0;
  std::uint64_t saved_fpsr_ = 0;

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
