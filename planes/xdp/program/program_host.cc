// SPDX-License-Identifier: Apache-2.0
//
// Changes jobs of an attached switch while packets arrive.
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/check.h"
#include "planes/xdp/program/program.h"

namespace infold::xdp {
namespace {

io::SocketAddress address_of(const infold_xdp_address& address, infold_be16 port) {
  std::uint8_t bytes[16];
  std::memcpy(bytes, &address, sizeof(bytes));
  const bool is_ipv4 =
      address.word[0] == 0 && static_cast<std::uint32_t>(address.word[1]) == 0xffff0000;
  if (is_ipv4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = port.wire;
    std::memcpy(&v4.sin_addr, bytes + 12, 4);
    return {reinterpret_cast<const sockaddr*>(&v4), sizeof(v4)};
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = port.wire;
  std::memcpy(&v6.sin6_addr, bytes, sizeof(bytes));
  return {reinterpret_cast<const sockaddr*>(&v6), sizeof(v6)};
}

}  // namespace

std::optional<std::uint32_t> Program::index_of(std::uint16_t job) const {
  for (std::uint32_t index = 0; index < jobs_.size(); ++index) {
    if (jobs_[index].used && jobs_[index].number == job) return index;
  }
  return std::nullopt;
}

void Program::close_job(std::uint16_t job) {
  const std::uint32_t number = job;
  const std::uint32_t none = 0;
  CHECK(bpf_map_update_elem(map("job_indices"), &number, &none, BPF_ANY) == 0);
}

// The kernel does not have a call for this alone. But when a map in a map of maps is replaced, the
// kernel waits for all programs that may still use the old map.
base::Result<void> Program::wait_for_packets() {
  const std::uint32_t key = 0;
  const int inner =
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "infold_wait", sizeof(key), sizeof(key), 1, nullptr);
  bpf_map_create_opts options{};
  options.sz = sizeof(options);
  options.inner_map_fd = static_cast<std::uint32_t>(inner);
  const int outer = inner < 0 ? -1
                              : bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "infold_wait",
                                               sizeof(key), sizeof(key), 1, &options);
  const bool waited = outer >= 0 && bpf_map_update_elem(outer, &key, &inner, BPF_ANY) == 0;
  const int error = errno;
  if (outer >= 0) close(outer);
  if (inner >= 0) close(inner);
  if (waited) return {};
  return base::fail(base::Code::unavailable, "xdp program", "the kernel cannot wait for packets",
                    error);
}

std::optional<infold_abort> Program::end_job(std::uint16_t job, const core::Abort& abort) {
  const std::optional<std::uint32_t> index = index_of(job);
  if (!index) return std::nullopt;
  std::byte frame[64] = {};
  __sk_buff words{};
  words.cb[0] = *index;
  words.cb[1] = static_cast<std::uint32_t>(abort.reason);
  words.cb[2] = abort.rank;
  words.cb[3] = abort.other;
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.data_in = frame;
  options.data_size_in = sizeof(frame);
  options.ctx_in = &words;
  options.ctx_size_in = sizeof(words);
  options.repeat = 1;
  CHECK(bpf_prog_test_run_opts(end_, &options) == 0);
  CHECK(options.retval == 0);
  infold_xdp_job now{};
  CHECK(bpf_map_lookup_elem_flags(map("jobs"), &*index, &now, BPF_F_LOCK) == 0);
  return now.abort;
}

std::vector<Place> Program::places(std::uint16_t job) const {
  std::vector<Place> list;
  const std::optional<std::uint32_t> index = index_of(job);
  if (!index) return list;
  infold_xdp_job now{};
  CHECK(bpf_map_lookup_elem_flags(map("jobs"), &*index, &now, BPF_F_LOCK) == 0);
  for (std::uint32_t worker = 0; worker < now.workers; ++worker) {
    infold_xdp_member member{};
    const std::uint32_t key = *index * INFOLD_XDP_MEMBERS + worker;
    CHECK(bpf_map_lookup_elem(map("members"), &key, &member) == 0);
    Place place{{member.first, member.count}, member.ifindex};
    if (member.ifindex != 0) place.address = address_of(member.address, member.port);
    list.push_back(place);
  }
  return list;
}

std::optional<WrongSource> Program::last_wrong_source() const {
  infold_xdp_wrong_source note{};
  const std::uint32_t key = 0;
  CHECK(bpf_map_lookup_elem(map("wrong_sources"), &key, &note) == 0);
  if (note.address.word[0] == 0 && note.address.word[1] == 0) return std::nullopt;
  return WrongSource{note.job, note.worker, address_of(note.address, {})};
}

unsigned Program::interface_of_parent(std::uint16_t job) const {
  const std::optional<std::uint32_t> index = index_of(job);
  if (!index) return 0;
  infold_xdp_member parent{};
  const std::uint32_t key = *index * INFOLD_XDP_MEMBERS + INFOLD_XDP_PARENT;
  CHECK(bpf_map_lookup_elem(map("members"), &key, &parent) == 0);
  return parent.ifindex;
}

std::size_t Program::memory_bytes() const {
  std::size_t bytes = 0;
  bpf_map* each = nullptr;
  bpf_object__for_each_map(each, object_.get()) {
    if (bpf_map__type(each) != BPF_MAP_TYPE_ARRAY) continue;
    const std::size_t value = (bpf_map__value_size(each) + std::size_t{7}) / 8 * 8;
    bytes += value * bpf_map__max_entries(each);
  }
  for (const Table& job : jobs_) {
    if (job.used && job.sums_native) bytes += job.slot_count * native_slot_bytes();
  }
  return bytes;
}

}  // namespace infold::xdp
