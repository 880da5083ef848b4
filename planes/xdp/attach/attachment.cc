// SPDX-License-Identifier: Apache-2.0
//
// Uses links of the kernel where it supports them. A link ends when its last descriptor or pin is
// gone.
#include "planes/xdp/attach/attachment.h"

#include <cerrno>
#include <cstring>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

namespace infold::xdp {
namespace {

constexpr char kFileSystem[] = "/sys/fs/bpf";
constexpr char kFolder[] = "/sys/fs/bpf/infold";
// Part of the kernel's interface since 6.6. It is given as a number, because the headers may be
// older.
constexpr auto kTcxIngress = static_cast<bpf_attach_type>(46);
// The handle of infold's filters, by which a later switch finds and replaces an earlier filter. If
// another program uses the same number, the program's name tells them apart.
constexpr std::uint32_t kFilterHandle = 0x1f0d;
constexpr std::uint32_t kFilterPriority = 0x1f0d;
constexpr char kIngressName[] = "send_noted";
constexpr char kPacketsName[] = "infold_switch";

std::string pin_folder(const Interface& interface) {
  struct stat space{};
  stat("/proc/self/ns/net", &space);
  return std::string(kFolder) + "/net" + std::to_string(space.st_ino) + "-if" +
         std::to_string(interface.index);
}

std::string packets_pin(const Interface& interface) { return pin_folder(interface) + "/packets"; }
std::string ingress_pin(const Interface& interface) { return pin_folder(interface) + "/ingress"; }

void unpin(const Interface& interface) {
  for (const std::string& path : {packets_pin(interface), ingress_pin(interface)}) {
    const int link = bpf_obj_get(path.c_str());
    if (link < 0) continue;
    bpf_link_detach(link);  // at once, even if another process holds the link
    unlink(path.c_str());
    close(link);
  }
  rmdir(pin_folder(interface).c_str());
}

// Puts this program into the pinned link of an earlier switch. Returns -1 if there is no such link.
int take_over(const std::string& path, int program) {
  const int link = bpf_obj_get(path.c_str());
  if (link < 0) return -1;
  if (bpf_link_update(link, program, nullptr) == 0) return link;
  unlink(path.c_str());  // the interface is gone
  close(link);
  return -1;
}

// Names the program that is already attached, if this process may know it.
std::string describe_program(std::uint32_t id) {
  bpf_prog_info info{};
  std::uint32_t bytes = sizeof(info);
  const int program = bpf_prog_get_fd_by_id(id);
  const bool known = program >= 0 && bpf_obj_get_info_by_fd(program, &info, &bytes) == 0;
  if (program >= 0) close(program);
  return (known ? "'" + std::string(info.name) + "', number " : "number ") + std::to_string(id);
}

bool is_named(std::uint32_t id, const char* name) {
  return describe_program(id).starts_with("'" + std::string(name) + "'");
}

std::string taken_text(const Interface& interface) {
  const std::uint32_t id = packets_program_at(interface);
  if (is_named(id, kPacketsName)) {
    return interface.name + " has the program of another infold switch (" + describe_program(id) +
           "), which is still ending or was pinned elsewhere: see bpftool link";
  }
  return interface.name + " has an XDP program already (" + describe_program(id) +
         "); detach it first: ip link set dev " + interface.name + " xdp off";
}

int link_packets(const Interface& interface, int program, std::uint32_t mode) {
  bpf_link_create_opts options{};
  options.sz = sizeof(options);
  options.flags = mode;
  return bpf_link_create(program, static_cast<int>(interface.index), BPF_XDP, &options);
}

// infold's filter at an interface's ingress, in the structures of libbpf.
struct Filter {
  explicit Filter(const Interface& interface) {
    hook.sz = sizeof(hook);
    hook.ifindex = static_cast<int>(interface.index);
    hook.attach_point = BPF_TC_INGRESS;
  }
  // Returns a fresh value for each call, because the kernel writes its answer into it.
  bpf_tc_opts place() const {
    bpf_tc_opts options{};
    options.sz = sizeof(options);
    options.handle = kFilterHandle;
    options.priority = kFilterPriority;
    return options;
  }
  bpf_tc_hook hook{};
};

std::string refusal_text(const Interface& interface, int error) {
  if (error == EOPNOTSUPP) return "its driver has no native mode";
  std::string text = "its driver refused native mode: " + std::string(strerror(error));
  if (error == ERANGE || error == EINVAL || error == E2BIG) {
    text += "; an MTU of " + std::to_string(interface.mtu) + " may be too large for it, " +
            std::to_string(kNativeMtuSure) + " or less is not";
  }
  return text;
}

}  // namespace

std::uint32_t packets_program_at(const Interface& interface) {
  std::uint32_t id = 0;
  bpf_xdp_query_id(static_cast<int>(interface.index), 0, &id);
  return id;
}

std::uint32_t ingress_filter_at(const Interface& interface) {
  const Filter filter(interface);
  bpf_tc_opts there = filter.place();
  return bpf_tc_query(&filter.hook, &there) == 0 ? there.prog_id : 0;
}

base::Attempt<Attachment> Attachment::attach(const Interface& interface,
                                             const AttachOptions& options) {
  Attachment attachment(interface, options.pin);
  struct statfs mounted{};
  const bool can_pin = statfs(kFileSystem, &mounted) == 0 && mounted.f_type == BPF_FS_MAGIC;
  if (options.pin && !can_pin) {
    return base::cannot(std::string("nothing can be pinned: mount -t bpf bpf ") + kFileSystem);
  }
  if (!options.pin && can_pin) unpin(interface);
  const bool takes_over = options.pin && access(packets_pin(interface).c_str(), F_OK) == 0;
  if (!takes_over && packets_program_at(interface) != 0) return base::cannot(taken_text(interface));
  // The ingress program is attached first, so that no note of the packet program is lost.
  if (base::Attempt<void> done = attachment.attach_ingress(options); !done)
    return base::cannot(done.error());
  if (base::Attempt<void> done = attachment.attach_packets(options); !done)
    return base::cannot(done.error());
  if (base::Attempt<void> done = attachment.pin(); !done) return base::cannot(done.error());
  return attachment;
}

base::Attempt<void> Attachment::attach_ingress(const AttachOptions& options) {
  if (options.use_tcx && pins_) {
    ingress_ = take_over(ingress_pin(interface_), options.ingress_program);
    if (ingress_ >= 0) return {};
  }
  if (options.use_tcx) {
    ingress_ = bpf_link_create(options.ingress_program, static_cast<int>(interface_.index),
                               kTcxIngress, nullptr);
    if (ingress_ >= 0) return {};
    if (errno != EINVAL) {
      return base::cannot(interface_.name + " takes no program at its ingress: " + strerror(errno));
    }
  }
  return attach_filter(options.ingress_program);
}

// Kernels before 6.6 need this. The filter's queueing discipline stays, because other filters may
// use it by now. Without a filter it does nothing.
base::Attempt<void> Attachment::attach_filter(int program) {
  Filter filter(interface_);
  const int made = bpf_tc_hook_create(&filter.hook);
  const std::uint32_t there = ingress_filter_at(interface_);
  if (there != 0 && !is_named(there, kIngressName)) {
    return base::cannot(interface_.name +
                        " has a filter of somebody else's in our place: tc filter show "
                        "dev " +
                        interface_.name + " ingress");
  }
  bpf_tc_opts ours = filter.place();
  ours.prog_fd = program;
  ours.flags = BPF_TC_F_REPLACE;
  if (const int error = bpf_tc_attach(&filter.hook, &ours); error != 0) {
    return base::cannot(interface_.name + " takes no program at its ingress: " +
                        strerror(made != 0 && made != -EEXIST ? -made : -error));
  }
  has_filter_ = true;
  return {};
}

base::Attempt<void> Attachment::attach_packets(const AttachOptions& options) {
  if (pins_) packets_ = take_over(packets_pin(interface_), options.packets_program);
  took_over_ = packets_ >= 0;
  if (packets_ < 0)
    packets_ = link_packets(interface_, options.packets_program, XDP_FLAGS_DRV_MODE);
  if (packets_ < 0) {
    const int error = errno;
    if (error == EBUSY || error == EEXIST) return base::cannot(taken_text(interface_));
    why_generic_ = refusal_text(interface_, error);
    packets_ = link_packets(interface_, options.packets_program, XDP_FLAGS_SKB_MODE);
    if (packets_ < 0) {
      return base::cannot(interface_.name + " takes no packet program: " + why_generic_ +
                          "; generic mode: " + strerror(errno));
    }
  }
  bpf_xdp_query_opts mode{};
  mode.sz = sizeof(mode);
  bpf_xdp_query(static_cast<int>(interface_.index), 0, &mode);
  is_native_ = mode.attach_mode == XDP_ATTACHED_DRV;
  return {};
}

base::Attempt<void> Attachment::pin() {
  if (!pins_) return {};
  mkdir(kFolder, 0700);
  mkdir(pin_folder(interface_).c_str(), 0700);
  const auto keep = [](int link, const std::string& path) {
    return link < 0 || bpf_obj_pin(link, path.c_str()) == 0 || errno == EEXIST;
  };
  if (keep(packets_, packets_pin(interface_)) && keep(ingress_, ingress_pin(interface_))) return {};
  pins_ = false;
  const std::string why = strerror(errno);
  unpin(interface_);
  return base::cannot("cannot pin below " + std::string(kFolder) + ": " + why);
}

Attachment::Attachment(Attachment&& other) noexcept
    : interface_(std::move(other.interface_)),
      pins_(other.pins_),
      is_native_(other.is_native_),
      took_over_(other.took_over_),
      has_filter_(std::exchange(other.has_filter_, false)),
      why_generic_(std::move(other.why_generic_)),
      packets_(std::exchange(other.packets_, -1)),
      ingress_(std::exchange(other.ingress_, -1)) {}

// The packet program is detached first, so that none of its notes is lost.
Attachment::~Attachment() {
  if (packets_ >= 0) close(packets_);
  if (ingress_ >= 0) close(ingress_);
  if (!has_filter_ || pins_) return;
  Filter filter(interface_);
  const bpf_tc_opts ours = filter.place();
  bpf_tc_detach(&filter.hook, &ours);
}

}  // namespace infold::xdp
