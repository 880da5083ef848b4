// SPDX-License-Identifier: Apache-2.0
//
// The packet program at one interface, and the program that follows it at the host's ingress. Both
// are detached when this object or its process ends, however the process ends. Pinned programs
// stay. On kernels before 6.6 the ingress program may stay as well: see ingress_outlives_us().
//
//   /sys/fs/bpf/infold/net4026531840-if7/packets    a pinned attachment, which the next switch that
//   /sys/fs/bpf/infold/net4026531840-if7/ingress    pins takes over without a gap between programs
#pragma once

#include <cstdint>
#include <string>

#include "base/attempt.h"
#include "planes/xdp/attach/interface.h"

namespace infold::xdp {

struct AttachOptions {
  int packets_program = -1;
  int ingress_program = -1;
  bool pin = false;     // false: removes what an earlier switch has pinned
  bool use_tcx = true;  // false: as on kernels before 6.6
};

class Attachment {
 public:
  // Requires: this process holds the interface's Claim.
  static base::Attempt<Attachment> attach(const Interface& interface, const AttachOptions& options);
  Attachment(Attachment&& other) noexcept;
  Attachment& operator=(Attachment&&) = delete;
  ~Attachment();

  bool is_native() const { return is_native_; }
  bool took_over() const { return took_over_; }  // from an earlier switch that had pinned it
  // Why the driver refused to run the program itself. Empty if the driver runs it.
  const std::string& why_generic() const { return why_generic_; }
  // Kernels before 6.6 keep the ingress program when a process is killed. The program then changes
  // nothing, and the next switch at the interface replaces it.
  bool ingress_outlives_us() const { return ingress_ < 0; }

 private:
  Attachment(Interface interface, bool pin) : interface_(std::move(interface)), pins_(pin) {}
  base::Attempt<void> attach_ingress(const AttachOptions& options);
  base::Attempt<void> attach_packets(const AttachOptions& options);
  base::Attempt<void> attach_filter(int program);
  base::Attempt<void> pin();

  Interface interface_;
  bool pins_ = false;
  bool is_native_ = false;
  bool took_over_ = false;
  bool has_filter_ = false;
  std::string why_generic_;
  int packets_ = -1;  // links of the kernel
  int ingress_ = -1;
};

// The id of a program at an interface, or 0 if there is none. The first function finds any packet
// program. The second finds the filter at the handle that infold uses at the ingress before Linux
// 6.6.
std::uint32_t packets_program_at(const Interface& interface);
std::uint32_t ingress_filter_at(const Interface& interface);

}  // namespace infold::xdp
