// SPDX-License-Identifier: Apache-2.0
//
// A P4Runtime server with the tables, groups and registers of our program, but without a data path.
// It refuses what a device refuses: inserting entries that exist, changing entries that do not
// exist, full tables, writers that are not the primary, and everything before it has a program. It
// also refuses the entries of a job whose registers are not cleared.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "base/check.h"
#include "base/mutex.h"
#include "planes/p4/fake_registers_testing.h"
#include "planes/p4/program.h"
#include "planes/p4/program_testing.h"
#include "proto/p4/p4runtime.grpc.pb.h"

namespace infold::p4 {

template <typename Map, typename Key, typename Value>
v1::Error change(Map& map, v1::Update::Type type, const Key& key, Value value, std::size_t most) {
  const bool is_there = map.contains(key);
  if (type == v1::Update::INSERT && is_there) {
    return error_of(grpc::ALREADY_EXISTS, "there is such an entry");
  }
  if (type != v1::Update::INSERT && !is_there) {
    return error_of(grpc::NOT_FOUND, "there is no such entry");
  }
  if (type == v1::Update::INSERT && map.size() >= most) {
    return error_of(grpc::RESOURCE_EXHAUSTED, "the table is full");
  }
  if (type == v1::Update::DELETE) {
    map.erase(key);
  } else {
    map[key] = std::move(value);
  }
  return {};
}

class FakeDevice final : private v1::P4Runtime::Service {
 public:
  using Keys = std::vector<std::uint64_t>;
  using Entries = std::map<Keys, std::vector<std::uint64_t>>;  // parameters, keyed by keys
  using Copy = FakeCopy;
  using Slot = FakeSlot;

  explicit FakeDevice(TargetKind target, const std::shared_ptr<grpc::ServerCredentials>& of =
                                             grpc::InsecureServerCredentials());
  ~FakeDevice() override;
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void stop();  // like a device that crashes

  // These return what the device holds now.
  Entries entries(Table table) const;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> groups() const;  // ports
  bool is_asked_for(DigestKind kind) const;
  Slot slot(std::uint32_t number) const;

  // These do what a data path would do.
  void set_slot(std::uint32_t number, const Slot& slot);
  void count(std::uint32_t verdict, std::int64_t packets);
  void tell(const StationNote& note);
  void tell(const WorkerNote& note);
  // Returns true when all digests have been acknowledged, and false if that takes too long.
  bool wait_for_acknowledgements();
  bool wait_for_no_primary();  // a controller's end is noticed later than it ends

  void lose_packets(int count);                  // the next packets to the registers
  void limit(Table table, std::size_t entries);  // refuses entries beyond this number
  void remember_election(std::uint64_t low);     // pretends that another primary came
  void refuse_writes(bool refuses, const char* why = "busy");
  void hide_registers(bool hides);  // messages that read registers get no answer
  void refuse_structs();            // messages that write a struct to registers get an error

 private:
  using Stream = grpc::ServerReaderWriter<v1::StreamMessageResponse, v1::StreamMessageRequest>;
  grpc::Status Write(grpc::ServerContext*, const v1::WriteRequest*, v1::WriteResponse*) override;
  grpc::Status Read(grpc::ServerContext*, const v1::ReadRequest*,
                    grpc::ServerWriter<v1::ReadResponse>*) override;
  grpc::Status SetForwardingPipelineConfig(grpc::ServerContext*,
                                           const v1::SetForwardingPipelineConfigRequest*,
                                           v1::SetForwardingPipelineConfigResponse*) override;
  grpc::Status StreamChannel(grpc::ServerContext*, Stream*) override;

  v1::Error take(const v1::Update& update) REQUIRES(mutex_);
  v1::Error take(v1::Update::Type type, const v1::TableEntry& entry) REQUIRES(mutex_);
  v1::Error take(v1::Update::Type type, const v1::MulticastGroupEntry& entry) REQUIRES(mutex_);
  v1::MasterArbitrationUpdate arbitrate(const v1::MasterArbitrationUpdate& wanted, Stream* stream)
      REQUIRES(mutex_);
  std::optional<v1::PacketIn> pass(const v1::PacketOut& packet) REQUIRES(mutex_);
  void tell(DigestKind kind, const std::vector<std::uint64_t>& members);

  const TargetKind target_;
  mutable base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::optional<Program> program_ GUARDED_BY(mutex_);
  std::array<Entries, static_cast<std::size_t>(Table::count_)> tables_ GUARDED_BY(mutex_);
  std::map<std::size_t, std::size_t> limits_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> groups_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, bool> digests_ GUARDED_BY(mutex_);
  FakeRegisters registers_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, std::int64_t> counters_ GUARDED_BY(mutex_);
  Stream* primary_ GUARDED_BY(mutex_) = nullptr;
  std::uint64_t election_ GUARDED_BY(mutex_) = 0;
  std::uint64_t digests_told_ GUARDED_BY(mutex_) = 0;
  std::uint64_t digests_acknowledged_ GUARDED_BY(mutex_) = 0;
  int packets_to_lose_ GUARDED_BY(mutex_) = 0;
  bool refuses_structs_ GUARDED_BY(mutex_) = false;
  bool refuses_writes_ GUARDED_BY(mutex_) = false;
  std::string why_refused_ GUARDED_BY(mutex_);
  bool hides_registers_ GUARDED_BY(mutex_) = false;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

inline FakeDevice::FakeDevice(TargetKind target, const std::shared_ptr<grpc::ServerCredentials>& of)
    : target_(target) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", of, &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr);
}

inline FakeDevice::~FakeDevice() { stop(); }

inline void FakeDevice::stop() {
  if (!server_) return;
  server_->Shutdown(gpr_now(GPR_CLOCK_MONOTONIC));
  server_->Wait();
  server_.reset();
}

inline FakeDevice::Entries FakeDevice::entries(Table table) const {
  const base::MutexLock lock(mutex_);
  return tables_[static_cast<std::size_t>(table)];
}

inline std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> FakeDevice::groups() const {
  const base::MutexLock lock(mutex_);
  return groups_;
}

inline bool FakeDevice::is_asked_for(DigestKind kind) const {
  const base::MutexLock lock(mutex_);
  return program_ && digests_.contains(program_->id_of(kind));
}

inline FakeDevice::Slot FakeDevice::slot(std::uint32_t number) const {
  const base::MutexLock lock(mutex_);
  return registers_.slot(number);
}

inline void FakeDevice::set_slot(std::uint32_t number, const Slot& slot) {
  const base::MutexLock lock(mutex_);
  registers_.set_slot(number, slot);
}

inline void FakeDevice::count(std::uint32_t verdict, std::int64_t packets) {
  const base::MutexLock lock(mutex_);
  counters_[verdict] += packets;
}

inline void FakeDevice::tell(const StationNote& note) {
  tell(DigestKind::station, {note.mac, note.port});
}

inline void FakeDevice::tell(const WorkerNote& note) {
  tell(DigestKind::worker, {note.job, note.worker, note.mac, note.udp_port, note.port});
}

inline void FakeDevice::tell(DigestKind kind, const std::vector<std::uint64_t>& members) {
  const base::MutexLock lock(mutex_);
  CHECK(primary_ != nullptr);
  v1::StreamMessageResponse message;
  v1::DigestList& list = *message.mutable_digest();
  list.set_digest_id(program_->id_of(kind));
  list.set_list_id(++digests_told_);
  v1::P4StructLike& data = *list.add_data()->mutable_struct_();
  for (const std::uint64_t member : members) data.add_members()->set_bitstring(bytes_of(member));
  primary_->Write(message);
}

inline bool FakeDevice::wait_for_acknowledgements() {
  base::MutexLock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [this]() REQUIRES(mutex_) {
    return digests_acknowledged_ == digests_told_;
  });
}

inline bool FakeDevice::wait_for_no_primary() {
  base::MutexLock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20),
                           [this]() REQUIRES(mutex_) { return primary_ == nullptr; });
}

inline void FakeDevice::lose_packets(int count) {
  const base::MutexLock lock(mutex_);
  packets_to_lose_ = count;
}

inline void FakeDevice::limit(Table table, std::size_t entries) {
  const base::MutexLock lock(mutex_);
  limits_[static_cast<std::size_t>(table)] = entries;
}

inline void FakeDevice::remember_election(std::uint64_t low) {
  const base::MutexLock lock(mutex_);
  election_ = low;
}

inline void FakeDevice::refuse_writes(bool refuses, const char* why) {
  const base::MutexLock lock(mutex_);
  refuses_writes_ = refuses;
  why_refused_ = why;
}

inline void FakeDevice::hide_registers(bool hides) {
  const base::MutexLock lock(mutex_);
  hides_registers_ = hides;
}

inline void FakeDevice::refuse_structs() {
  const base::MutexLock lock(mutex_);
  refuses_structs_ = true;
}

inline grpc::Status FakeDevice::Write(grpc::ServerContext*, const v1::WriteRequest* request,
                                      v1::WriteResponse*) {
  const base::MutexLock lock(mutex_);
  if (!program_) return {grpc::FAILED_PRECONDITION, "no program"};
  if (primary_ == nullptr || request->election_id().low() != election_) {
    return {grpc::PERMISSION_DENIED, "not the primary"};
  }
  if (refuses_writes_) return {grpc::UNAVAILABLE, why_refused_};
  v1::Status details;
  bool is_good = true;
  for (const v1::Update& update : request->updates()) {
    const v1::Error error = take(update);
    is_good = is_good && error.canonical_code() == grpc::OK;
    details.add_details()->PackFrom(error);
  }
  if (is_good) return grpc::Status::OK;
  return {grpc::UNKNOWN, "some updates failed", details.SerializeAsString()};
}

inline v1::Error FakeDevice::take(const v1::Update& update) {
  const v1::Entity& entity = update.entity();
  if (entity.has_table_entry()) return take(update.type(), entity.table_entry());
  if (entity.has_packet_replication_engine_entry()) {
    return take(update.type(), entity.packet_replication_engine_entry().multicast_group_entry());
  }
  if (entity.has_digest_entry()) {
    return change(digests_, update.type(), entity.digest_entry().digest_id(), true, 2);
  }
  if (entity.has_register_entry() && target_ == TargetKind::tofino) {
    return registers_.take(*program_, update.type(), entity.register_entry());
  }
  return error_of(grpc::UNIMPLEMENTED, "no such entity");
}

inline v1::Error FakeDevice::take(v1::Update::Type type, const v1::TableEntry& entry) {
  const std::vector<TestTable>& all = test_tables(target_);
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const TestTable& each) { return each.id == entry.table_id(); });
  if (found == all.end()) return error_of(grpc::NOT_FOUND, "no such table");
  const TestTable& of = *found;
  const auto table = static_cast<std::size_t>(of.number);
  const auto fits = [](const std::string& bytes, const Field& field) {
    const std::uint64_t number = number_of(bytes);
    return bytes == bytes_of(number) && number >> field.bits == 0;
  };
  Keys keys;
  for (const v1::FieldMatch& match : entry.match()) {
    if (keys.size() == of.keys.size() || !fits(match.exact().value(), of.keys[keys.size()])) {
      return error_of(grpc::INVALID_ARGUMENT, "a key does not fit");
    }
    keys.push_back(number_of(match.exact().value()));
  }
  std::vector<std::uint64_t> parameters;
  for (const v1::Action::Param& each : entry.action().action().params()) {
    if (parameters.size() == of.parameters.size() ||
        !fits(each.value(), of.parameters[parameters.size()])) {
      return error_of(grpc::INVALID_ARGUMENT, "a parameter does not fit");
    }
    parameters.push_back(number_of(each.value()));
  }
  const std::size_t wanted = type == v1::Update::DELETE ? 0 : of.parameters.size();
  if (keys.size() != of.keys.size() || parameters.size() != wanted) {
    return error_of(grpc::INVALID_ARGUMENT, "too few keys or parameters");
  }
  if (of.number == Table::senders && type == v1::Update::INSERT &&
      registers_.slot(static_cast<std::uint32_t>(parameters[0]) * kSlotsOfJob).open == 0) {
    return error_of(grpc::FAILED_PRECONDITION, "the job's registers are not cleared");
  }
  const auto limit = limits_.find(table);
  return change(tables_[table], type, keys, parameters,
                limit == limits_.end() ? ~std::size_t{0} : limit->second);
}

inline v1::Error FakeDevice::take(v1::Update::Type type, const v1::MulticastGroupEntry& entry) {
  std::map<std::uint32_t, std::uint32_t> ports;
  for (const v1::Replica& replica : entry.replicas()) {
    // In the flood group, several ports have the same instance.
    const std::uint32_t key =
        entry.multicast_group_id() == kFloodGroup ? replica.egress_port() : replica.instance();
    if (!ports.emplace(key, replica.egress_port()).second) {
      return error_of(grpc::INVALID_ARGUMENT, "a replica twice");
    }
  }
  return change(groups_, type, entry.multicast_group_id(), ports, ~std::size_t{0});
}

inline grpc::Status FakeDevice::Read(grpc::ServerContext*, const v1::ReadRequest* request,
                                     grpc::ServerWriter<v1::ReadResponse>* writer) {
  const base::MutexLock lock(mutex_);
  if (!program_) return {grpc::FAILED_PRECONDITION, "no program"};
  v1::ReadResponse response;
  if (request->entities(0).has_packet_replication_engine_entry()) {
    for (const auto& [group, ports] : groups_) {
      response.add_entities()
          ->mutable_packet_replication_engine_entry()
          ->mutable_multicast_group_entry()
          ->set_multicast_group_id(group);
    }
    writer->Write(response);
    return grpc::Status::OK;
  }
  if (request->entities(0).has_register_entry()) {
    if (target_ == TargetKind::bmv2) return {grpc::UNIMPLEMENTED, "no registers"};
    // Answers in another order than asked, as a device may.
    for (auto each = request->entities().rbegin(); each != request->entities().rend(); ++each) {
      if (hides_registers_) continue;
      *response.add_entities() = registers_.read(*program_, each->register_entry());
    }
    writer->Write(response);
    return grpc::Status::OK;
  }
  for (const auto& [index, packets] : counters_) {
    v1::CounterEntry& entry = *response.add_entities()->mutable_counter_entry();
    entry = request->entities(0).counter_entry();
    entry.mutable_index()->set_index(index);
    entry.mutable_data()->set_packet_count(packets);
  }
  writer->Write(response);
  return grpc::Status::OK;
}

inline grpc::Status FakeDevice::SetForwardingPipelineConfig(
    grpc::ServerContext*, const v1::SetForwardingPipelineConfigRequest* request,
    v1::SetForwardingPipelineConfigResponse*) {
  const base::MutexLock lock(mutex_);
  if (primary_ == nullptr || request->election_id().low() != election_) {
    return {grpc::PERMISSION_DENIED, "not the primary"};
  }
  auto program = Program::of(target_, request->config());
  if (!program) return {grpc::INVALID_ARGUMENT, program.error()};
  program_ = std::move(*program);
  tables_ = {};  // groups stay, as on BMv2
  digests_.clear();
  registers_ = {};
  registers_.refuses_structs = refuses_structs_;
  return grpc::Status::OK;
}

inline grpc::Status FakeDevice::StreamChannel(grpc::ServerContext*, Stream* stream) {
  v1::StreamMessageRequest request;
  while (stream->Read(&request)) {
    const base::MutexLock lock(mutex_);
    v1::StreamMessageResponse response;
    if (request.has_arbitration()) {
      const std::uint64_t number = request.arbitration().election_id().low();
      if (primary_ != nullptr && primary_ != stream && number == election_) {
        return {grpc::INVALID_ARGUMENT, "Election id already exists"};
      }
      *response.mutable_arbitration() = arbitrate(request.arbitration(), stream);
      stream->Write(response);
    } else if (request.has_packet()) {
      if (auto answer = pass(request.packet())) {
        *response.mutable_packet() = std::move(*answer);
        stream->Write(response);
      }
    } else if (request.has_digest_ack()) {
      ++digests_acknowledged_;
      changed_.notify_all();
    }
  }
  const base::MutexLock lock(mutex_);
  if (primary_ == stream) primary_ = nullptr;
  changed_.notify_all();
  return grpc::Status::OK;
}

inline v1::MasterArbitrationUpdate FakeDevice::arbitrate(const v1::MasterArbitrationUpdate& wanted,
                                                         Stream* stream) {
  v1::MasterArbitrationUpdate answer = wanted;
  const std::uint64_t number = wanted.election_id().low();
  if (primary_ != nullptr && primary_ != stream) {
    answer.mutable_status()->set_code(grpc::ALREADY_EXISTS);
  } else if (number < election_ || (number == election_ && primary_ == nullptr && number > 1)) {
    answer.mutable_status()->set_code(grpc::NOT_FOUND);
  } else {
    primary_ = stream;
    election_ = number;
  }
  answer.mutable_election_id()->set_low(election_);
  return answer;
}

inline std::optional<v1::PacketIn> FakeDevice::pass(const v1::PacketOut& packet) {
  if (packets_to_lose_ > 0) {
    --packets_to_lose_;
    return std::nullopt;
  }
  if (program_->fields_in().empty()) return std::nullopt;  // other traffic
  return registers_.pass(*program_, packet);
}

}  // namespace infold::p4
