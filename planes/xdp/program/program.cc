// SPDX-License-Identifier: Apache-2.0
//
// Calls libbpf, and writes the values of the maps.
#include "planes/xdp/program/program.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/check.h"
#include "planes/xdp/program/native_rows.h"
#include "planes/xdp/program/object.h"

namespace infold::xdp {
namespace {

using base::Code;
using base::fail;

constexpr char kWhere[] = "xdp program";

std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

infold_xdp_address mapped(const io::SocketAddress& address) {
  std::uint8_t bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (address.is_ipv6()) {
    sockaddr_in6 v6;
    std::memcpy(&v6, address.data(), sizeof(v6));
    std::memcpy(bytes, &v6.sin6_addr, 16);
  } else {
    sockaddr_in v4;
    std::memcpy(&v4, address.data(), sizeof(v4));
    std::memcpy(bytes + 12, &v4.sin_addr, 4);
  }
  infold_xdp_address result;
  std::memcpy(&result, bytes, sizeof(result));
  return result;
}

std::string* log_of_load = nullptr;

class LogOfLoad {
 public:
  explicit LogOfLoad(std::string* log) { log_of_load = log; }
  ~LogOfLoad() { log_of_load = nullptr; }
};

__attribute__((format(printf, 2, 0))) int take_log(libbpf_print_level level, const char* format,
                                                   va_list arguments) {
  if (log_of_load == nullptr || level == LIBBPF_DEBUG) return 0;
  va_list again;
  va_copy(again, arguments);
  const int bytes = vsnprintf(nullptr, 0, format, arguments);
  std::string text(static_cast<std::size_t>(bytes) + 1, '\0');
  vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  text.pop_back();
  log_of_load->append(text);
  return bytes;
}

tl::unexpected<base::Error> load_failure(int error) {
  switch (error) {
    case EPERM:
      return fail(Code::unavailable, kWhere,
                  "the kernel did not let us load it: needs CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON",
                  error);
    case ENOMEM:
    case E2BIG:
      return fail(Code::resource_exhausted, kWhere, "not enough memory for the slots", error);
    default:
      return fail(Code::unsupported, kWhere,
                  "the kernel refused the program: it has loaded on Linux 6.1, 6.12 and 6.18",
                  error);
  }
}

infold_xdp_config config_value(const ProgramOptions& options, const RowLayout& rows) {
  infold_xdp_config config{};
  config.elements_max = round_up(options.elements_max, 64);
  config.stored_bytes_max = round_up(options.datagram_bytes_max, 64);
  config.slots = options.slots_max;
  config.jobs = options.jobs_max;
  std::copy(rows.words.begin(), rows.words.end(), config.row_words);
  config.grows = options.grows ? 1 : 0;
  config.bounces = options.bounces ? 1 : 0;
  config.port = infold_to_be16(options.addresses.front().port());
  for (const io::SocketAddress& address : options.addresses) {
    config.addresses[config.address_count++] = mapped(address);
  }
  return config;
}

bpf_map* find_map(bpf_object* object, const char* name) {
  bpf_map* const map = bpf_object__find_map_by_name(object, name);
  CHECK(map != nullptr);
  return map;
}

void set_value(bpf_object* object, const char* name, const void* value, std::size_t bytes) {
  CHECK(bpf_map__set_initial_value(find_map(object, name), value, bytes) == 0);
}

void shape_maps(bpf_object* object, const ProgramOptions& options,
                const infold_xdp_config& config) {
  const auto shape = [object](const char* name, std::uint32_t entries, std::uint32_t bytes_each) {
    bpf_map* const map = find_map(object, name);
    CHECK(bpf_map__set_max_entries(map, entries) == 0);
    if (bytes_each != 0) CHECK(bpf_map__set_value_size(map, bytes_each) == 0);
  };
  shape("jobs", options.jobs_max, 0);
  shape("members", options.jobs_max * INFOLD_XDP_MEMBERS, 0);
  shape("counters", options.jobs_max + 1, 0);
  shape("slots", options.slots_max, 0);
  shape("codes", options.slots_max * 2, 0);
  shape("stored", options.slots_max * 2, config.stored_bytes_max + INFOLD_XDP_STORED_SLACK);
  shape("lanes", options.slots_max * 2, config.elements_max * 8);
  shape("rows_of_jobs", options.jobs_max, 0);
}

infold_xdp_job job_value(const core::AggregatorOptions& options, std::uint32_t slot_first) {
  infold_xdp_job job{};
  job.epoch = options.epoch;
  job.number = options.job;
  job.slot_count = options.slot_count;
  job.slot_first = slot_first;
  const std::uint32_t body = options.datagram_bytes_max - INFOLD_HEADER_BYTES;
  const std::uint32_t held = std::min({options.elements_max, body, 0U + INFOLD_ELEMENTS_MAX});
  job.elements_max = std::min(round_up(held, 64), options.elements_max);
  job.datagram_bytes_max = options.datagram_bytes_max;
  job.world = options.world;
  job.workers = static_cast<std::uint16_t>(options.workers.size());
  job.has_parent = options.parent_worker ? 1 : 0;
  job.parent_worker = options.parent_worker.value_or(0);
  for (const core::WireFormat format :
       {core::WireFormat::bfp8, core::WireFormat::bfp16, core::WireFormat::bfp32}) {
    job.spread[core::mantissa_index(format)] =
        core::exponent_spread_max({format, core::DataType::f32}, options.world);
  }
  job.brief_results = options.brief_results ? 1 : 0;
  job.is_plain = 1;
  for (std::size_t worker = 0; worker < options.workers.size(); ++worker) {
    job.expected[worker / 64] |= std::uint64_t{1} << (worker % 64);
    const core::RankRange& ranks = options.workers[worker];
    if (ranks.first != worker || ranks.count != 1) job.is_plain = 0;
  }
  return job;
}

}  // namespace

void Program::Close::operator()(bpf_object* object) const { bpf_object__close(object); }
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

// An element takes at least one byte.
core::SiteRecord Program::record() const {
  core::SiteRecord record;
  record.formats = record.formats - core::FormatSet::of(core::WireFormat::native);
  record.native_types = core::FloatTypes::of(core::DataType::f32) |
                        core::FloatTypes::of(core::DataType::f16) |
                        core::FloatTypes::of(core::DataType::bf16);
  record.elements_max = std::min(elements_max_, datagram_bytes_max_);
  record.takes_sparse = false;
  record.sends_bits = false;
  return record;
}

int Program::map(const char* name) const {
  const int fd = bpf_object__find_map_fd_by_name(object_.get(), name);
  CHECK_THAT(fd, >=, 0);
  return fd;
}

base::Result<Program> Program::load(const ProgramOptions& options) {
  if (options.addresses.empty() || options.addresses.size() > INFOLD_XDP_ADDRESSES_MAX) {
    return fail(Code::out_of_range, kWhere, "takes 1 to 4 addresses",
                static_cast<std::int64_t>(options.addresses.size()));
  }
  if (options.datagram_bytes_max > INFOLD_XDP_DATAGRAM_BYTES_MAX ||
      options.elements_max > INFOLD_XDP_ELEMENTS_MAX) {
    return fail(Code::out_of_range, kWhere, "sums datagrams of up to 3456 bytes and elements",
                std::max(options.datagram_bytes_max, options.elements_max));
  }
  Program program;
  program.slots_max_ = options.slots_max;
  program.elements_max_ = round_up(options.elements_max, 64);
  program.datagram_bytes_max_ = options.datagram_bytes_max;
  program.jobs_.resize(options.jobs_max);

  const RowLayout rows = RowLayout::of(options.datagram_bytes_max, program.elements_max_);
  const infold_xdp_config config = config_value(options, rows);
  const infold_xdp_scales scales = make_scales(rows);
  program.rows_ = rows;

  libbpf_set_print(take_log);
  const LogOfLoad log(options.log);
  const std::span<const std::byte> bytes = object_bytes();
  bpf_object_open_opts open{};
  open.sz = sizeof(open);
  open.object_name = "infold";
  bpf_object* const object = bpf_object__open_mem(bytes.data(), bytes.size(), &open);
  if (object == nullptr) return load_failure(errno);
  program.object_.reset(object);

  shape_maps(object, options, config);
  set_value(object, ".rodata.config", &config, sizeof(config));
  set_value(object, ".rodata.scales", &scales, sizeof(scales));
  // The verifier takes the size of each job's rows from this map.
  const int like = make_rows(rows, 1);
  if (like < 0) return load_failure(errno);
  CHECK(bpf_map__set_inner_map_fd(find_map(object, "rows_of_jobs"), like) == 0);

  const auto load_if = [object](const char* name, bool wanted) {
    bpf_program* const each = bpf_object__find_program_by_name(object, name);
    CHECK(each != nullptr && bpf_program__set_autoload(each, wanted) == 0);
  };
  load_if("rewind_and_run", options.can_rewind);
  load_if("fill_noted", options.can_fill);
  load_if("bounce", options.can_bounce);
  load_if("discard", options.can_bounce);

  const int error = bpf_object__load(object);
  close(like);
  if (error != 0) return load_failure(-error);
  const auto descriptor = [object](const char* name) {
    const bpf_program* const each = bpf_object__find_program_by_name(object, name);
    CHECK(each != nullptr);
    return bpf_program__fd(each);
  };
  program.entry_ = descriptor("infold_switch");
  program.ingress_ = descriptor("send_noted");
  program.end_ = descriptor("end_job");
  program.fill_ = descriptor("fill_noted");
  program.bounce_ = descriptor("bounce");
  program.discard_ = descriptor("discard");
  return program;
}

base::Result<std::uint32_t> Program::find_slots(std::uint32_t count) const {
  // First fit is enough, because jobs are few and rarely change.
  std::uint32_t first = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Table& job : jobs_) {
      if (!job.used || first >= job.slot_first + job.slot_count || job.slot_first >= first + count)
        continue;
      first = job.slot_first + job.slot_count;
      moved = true;
    }
  }
  if (first + count > slots_max_) {
    return fail(Code::resource_exhausted, kWhere, "has not as many slots left", count);
  }
  return first;
}

base::Result<void> Program::add_job(const core::AggregatorOptions& options,
                                    const site::Neighbours& neighbours, bool sums_native) {
  if (options.datagram_bytes_max > datagram_bytes_max_) {
    return fail(Code::out_of_range, kWhere, "was loaded for smaller datagrams",
                options.datagram_bytes_max);
  }
  remove_job(options.job);
  const auto free =
      std::find_if(jobs_.begin(), jobs_.end(), [](const Table& t) { return !t.used; });
  if (free == jobs_.end()) {
    return fail(Code::resource_exhausted, kWhere, "has no room for another job",
                static_cast<std::int64_t>(jobs_.size()));
  }
  const base::Result<std::uint32_t> first = find_slots(options.slot_count);
  if (!first) return tl::unexpected(first.error());
  const auto index = static_cast<std::uint32_t>(free - jobs_.begin());
  if (sums_native) {
    if (const base::Result<void> made = add_rows(index, options.slot_count); !made) return made;
  }

  infold_xdp_slot slot{};
  slot.copies[1].round = ~0U;  // as after summing chunks 0 and -1
  for (std::uint32_t i = 0; i < options.slot_count; ++i) {
    const std::uint32_t key = *first + i;
    CHECK(bpf_map_update_elem(map("slots"), &key, &slot, BPF_ANY) == 0);
  }
  for (std::uint32_t worker = 0; worker < options.workers.size(); ++worker) {
    const core::RankRange& ranks = options.workers[worker];
    infold_xdp_member member{};
    member.first = ranks.first;
    member.count = ranks.count;
    member.digest = core::contributors_of(ranks).digest;
    member.is_aggregator = core::is_aggregator(options, worker) ? 1 : 0;
    if (worker < neighbours.workers.size() && neighbours.workers[worker].is_set()) {
      member.source = mapped(neighbours.workers[worker]);
    }
    const std::uint32_t key = index * INFOLD_XDP_MEMBERS + worker;
    CHECK(bpf_map_update_elem(map("members"), &key, &member, BPF_ANY) == 0);
  }
  infold_xdp_member above{};
  if (neighbours.parent.is_set()) {
    above.address = mapped(neighbours.parent);
    above.port = infold_to_be16(neighbours.parent.port());
  }
  const std::uint32_t key_above = index * INFOLD_XDP_MEMBERS + INFOLD_XDP_PARENT;
  CHECK(bpf_map_update_elem(map("members"), &key_above, &above, BPF_ANY) == 0);
  infold_xdp_job job = job_value(options, *first);
  job.elements_max = std::min(job.elements_max, elements_max_);
  job.sums_native = sums_native ? 1 : 0;
  CHECK(bpf_map_update_elem(map("jobs"), &index, &job, BPF_ANY) == 0);
  const std::uint32_t number = options.job;
  const std::uint32_t entry = index + 1;
  CHECK(bpf_map_update_elem(map("job_indices"), &number, &entry, BPF_ANY) == 0);
  *free = {true, options.job, *first, options.slot_count, sums_native, counters_of(index)};
  return {};
}

base::Result<void> Program::add_rows(std::uint32_t index, std::uint32_t slots) {
  const int made = make_rows(rows_, 2 * slots);
  const bool added =
      made >= 0 && bpf_map_update_elem(map("rows_of_jobs"), &index, &made, BPF_ANY) == 0;
  const int error = errno;
  if (made >= 0) close(made);
  if (added) return {};
  return fail(
      Code::resource_exhausted, kWhere,
      "gets no memory from the kernel for true sums in as many slots; join with wire format bfp32",
      error);
}

void Program::remove_job(std::uint16_t job) {
  const std::optional<std::uint32_t> index = index_of(job);
  if (!index) return;
  close_job(job);
  if (jobs_[*index].sums_native) {
    CHECK(bpf_map_delete_elem(map("rows_of_jobs"), &*index) == 0);
  }
  jobs_[*index].used = false;
}

base::Result<TestRun> Program::test_run(std::span<const std::byte> frame) {
  return run(entry_, frame, 1);
}

base::Result<std::vector<std::byte>> Program::ingress_run(std::span<const std::byte> frame,
                                                          const infold_xdp_note& note,
                                                          std::uint32_t member) {
  std::vector<std::byte> out(4096);
  __sk_buff before{};
  before.cb[0] = note.copy;
  before.cb[1] = note.round;
  before.cb[2] = note.answer_bytes;
  before.cb[3] = note.job * INFOLD_XDP_MEMBERS + member;
  before.cb[4] = note.in_packet | std::uint32_t{note.to} << 8;
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<std::uint32_t>(frame.size());
  options.data_out = out.data();
  options.data_size_out = static_cast<std::uint32_t>(out.size());
  options.ctx_in = &before;
  options.ctx_size_in = sizeof(before);
  options.repeat = 1;
  if (bpf_prog_test_run_opts(fill_, &options) != 0) {
    return fail(Code::unsupported, kWhere, "the kernel cannot run the program at the ingress",
                errno);
  }
  if (options.retval != 0) {
    return fail(Code::unavailable, kWhere, "the answer is not there any more", options.retval);
  }
  out.resize(options.data_size_out);
  return out;
}

base::Result<double> Program::time_run(std::span<const std::byte> frame, std::uint16_t job,
                                       std::uint16_t slot, std::uint32_t repeat, bool only_rewind) {
  const auto table = std::find_if(jobs_.begin(), jobs_.end(),
                                  [job](const Table& t) { return t.used && t.number == job; });
  CHECK(table != jobs_.end() && slot < table->slot_count);
  CHECK_THAT(frame.size(), <=, INFOLD_XDP_REWIND_BYTES_MAX);
  infold_xdp_rewind to{};
  to.slot = table->slot_first + slot;
  to.frame_bytes = static_cast<std::uint32_t>(frame.size());
  to.only = only_rewind ? 1 : 0;
  to.left_bytes = to.frame_bytes;
  infold_xdp_slot now{};
  CHECK(bpf_map_lookup_elem(map("slots"), &to.slot, &now) == 0);
  std::memcpy(to.copies, now.copies, sizeof(to.copies));
  std::memcpy(to.frame, frame.data(), frame.size());
  if (only_rewind) {
    const base::Result<TestRun> once = run(entry_, frame, 1);
    if (!once) return tl::unexpected(once.error());
    to.left_bytes = std::min(to.frame_bytes, static_cast<std::uint32_t>(once->frame.size()));
  }
  const std::uint32_t key = 0;
  CHECK(bpf_map_update_elem(map("rewinds"), &key, &to, BPF_ANY) == 0);
  const bpf_program* const program =
      bpf_object__find_program_by_name(object_.get(), "rewind_and_run");
  const base::Result<TestRun> result = run(bpf_program__fd(program), frame, repeat);
  CHECK(bpf_map_update_elem(map("slots"), &to.slot, &now, BPF_ANY) == 0);
  if (!result) return tl::unexpected(result.error());
  return result->duration_ns;
}

base::Result<TestRun> Program::run(int program, std::span<const std::byte> frame,
                                   std::uint32_t repeat) {
  TestRun run;
  run.frame.resize(4096);
  xdp_md context{};
  bpf_test_run_opts options{};
  options.sz = sizeof(options);
  options.data_in = frame.data();
  options.data_size_in = static_cast<std::uint32_t>(frame.size());
  options.data_out = run.frame.data();
  options.data_size_out = static_cast<std::uint32_t>(run.frame.size());
  xdp_md before{};
  before.data_end = options.data_size_in;
  options.ctx_in = &before;
  options.ctx_size_in = sizeof(before);
  options.ctx_out = &context;
  options.ctx_size_out = sizeof(context);
  options.repeat = static_cast<int>(repeat);
  if (bpf_prog_test_run_opts(program, &options) != 0) {
    return fail(Code::unsupported, kWhere, "the kernel cannot run the program on this frame",
                errno);
  }
  run.action = options.retval;
  run.duration_ns = options.duration;
  run.frame.resize(options.data_size_out);
  if (context.data > sizeof(run.note) || context.data == 0) return run;
  if (context.data == sizeof(run.note)) std::memcpy(&run.note, run.frame.data(), sizeof(run.note));
  run.frame.erase(run.frame.begin(), run.frame.begin() + context.data);
  return run;
}

}  // namespace infold::xdp
