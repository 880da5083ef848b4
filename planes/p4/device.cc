// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/device.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include "base/mutex.h"
#include "base/plain_text.h"
#include "planes/p4/tls/channel.h"

namespace infold::p4 {
namespace {

using Stream = grpc::ClientReaderWriter<v1::StreamMessageRequest, v1::StreamMessageResponse>;

constexpr int kOk = 0;
// The status of a stream if another controller has the same number.
constexpr int kInvalidArgument = 3;
// The status of a request to be the primary if there is none, because an earlier one had a higher
// number.
constexpr int kNotFound = 5;

// The errors of the updates that failed.
std::vector<v1::Error> errors_of(const grpc::Status& status) {
  std::vector<v1::Error> errors;
  v1::Status details;
  if (!details.ParseFromString(status.error_details())) return errors;
  for (const auto& detail : details.details()) {
    v1::Error error;
    if (detail.UnpackTo(&error) && error.canonical_code() != kOk) errors.push_back(error);
  }
  return errors;
}

bool says_that_all_are_gone(const grpc::Status& status) {
  const std::vector<v1::Error> errors = errors_of(status);
  return !errors.empty() && std::all_of(errors.begin(), errors.end(), [](const v1::Error& error) {
    return error.canonical_code() == kNotFound;
  });
}

// The first error in the device's words, of which no character can move a terminal's cursor.
std::string text_of(const grpc::Status& status) {
  for (const v1::Error& error : errors_of(status)) {
    return fmt::format("{} (code {})", base::printable(error.message()), error.canonical_code());
  }
  if (!status.error_message().empty()) return base::printable(status.error_message());
  return fmt::format("code {}", static_cast<int>(status.error_code()));
}

}  // namespace

class Device::Link {
 public:
  explicit Link(const DeviceOptions& options)
      : options_(options), stub_(v1::P4Runtime::NewStub(make_channel(options))) {}

  ~Link() { disconnect(); }

  void listen(DeviceListener& listener) { listener_ = &listener; }

  void disconnect() {
    context_.TryCancel();
    if (reader_.joinable()) reader_.join();
  }

  base::Attempt<void> become_primary() {
    stream_ = stub_->StreamChannel(&context_);
    election_.set_low(1);
    if (!ask_to_be_primary()) {
      return base::cannot(place() + ": no P4Runtime server answers: " + text_of(stream_->Finish()));
    }
    reader_ = std::thread([this] { read_stream(); });
    base::MutexLock lock(mutex_);
    const bool is_settled = changed_.wait_for(lock, options_.patience, [this]() REQUIRES(mutex_) {
      return is_primary_ || !why_lost_.empty();
    });
    if (!is_settled) return base::cannot(place() + ": no P4Runtime server answers");
    if (!why_lost_.empty()) return base::cannot(why_lost_);
    return {};
  }

  base::Attempt<void> load(const v1::ForwardingPipelineConfig& program) {
    v1::SetForwardingPipelineConfigRequest request;
    request.set_device_id(options_.id);
    *request.mutable_election_id() = election_;
    request.set_action(v1::SetForwardingPipelineConfigRequest::VERIFY_AND_COMMIT);
    *request.mutable_config() = program;
    grpc::ClientContext context;
    set_deadline(context);
    v1::SetForwardingPipelineConfigResponse response;
    const grpc::Status status = stub_->SetForwardingPipelineConfig(&context, request, &response);
    if (status.ok()) return {};
    return base::cannot(place() + " does not take the program: " + text_of(status));
  }

  base::Attempt<void> write(const std::vector<v1::Update>& updates) {
    const grpc::Status status = send_updates(updates);
    if (status.ok()) return {};
    return base::cannot(place() + " refuses an entry: " + text_of(status));
  }

  base::Attempt<void> remove(const std::vector<v1::Update>& deletions) {
    const grpc::Status status = send_updates(deletions);
    if (status.ok() || says_that_all_are_gone(status)) return {};
    return base::cannot(place() + " keeps an entry: " + text_of(status));
  }

  base::Attempt<std::vector<v1::Entity>> read(const std::vector<v1::Entity>& wanted) {
    v1::ReadRequest request;
    request.set_device_id(options_.id);
    request.mutable_entities()->Add(wanted.begin(), wanted.end());
    grpc::ClientContext context;
    set_deadline(context);
    const auto reader = stub_->Read(&context, request);
    std::vector<v1::Entity> found;
    v1::ReadResponse response;
    while (reader->Read(&response)) {
      found.insert(found.end(), response.entities().begin(), response.entities().end());
    }
    const grpc::Status status = reader->Finish();
    if (status.ok()) return found;
    return base::cannot(place() + " answers no question: " + text_of(status));
  }

  void send(const v1::PacketOut& packet) {
    v1::StreamMessageRequest request;
    *request.mutable_packet() = packet;
    write_to_stream(request);
  }

  void acknowledge(const v1::DigestList& list) {
    v1::StreamMessageRequest request;
    request.mutable_digest_ack()->set_digest_id(list.digest_id());
    request.mutable_digest_ack()->set_list_id(list.list_id());
    write_to_stream(request);
  }

  // A message to the program blocks its writer as long as the device does not read.
  void watch() {
    {
      const base::MutexLock lock(mutex_);
      if (Clock::now() < writing_until_) return;
    }
    lose(place() + " reads no message");
    context_.TryCancel();
  }

  std::string why_lost() const {
    const base::MutexLock lock(mutex_);
    return why_lost_;
  }
  const std::string& address() const { return options_.address; }

 private:
  using Clock = std::chrono::steady_clock;

  grpc::Status send_updates(const std::vector<v1::Update>& updates) {
    v1::WriteRequest request;
    request.set_device_id(options_.id);
    *request.mutable_election_id() = election_;
    request.mutable_updates()->Add(updates.begin(), updates.end());
    grpc::ClientContext context;
    set_deadline(context);
    v1::WriteResponse response;
    return stub_->Write(&context, request, &response);
  }

  std::string place() const { return "the P4 device at " + options_.address; }

  void set_deadline(grpc::ClientContext& context) const {
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                     gpr_time_from_millis(options_.patience.count(), GPR_TIMESPAN)));
  }

  bool ask_to_be_primary() {
    v1::StreamMessageRequest request;
    request.mutable_arbitration()->set_device_id(options_.id);
    *request.mutable_arbitration()->mutable_election_id() = election_;
    return write_to_stream(request);
  }

  bool write_to_stream(const v1::StreamMessageRequest& request) {
    const base::MutexLock turn(writing_);
    note_writing_until(Clock::now() + options_.patience);
    const bool is_written = stream_->Write(request);
    note_writing_until(Clock::time_point::max());
    return is_written;
  }

  void note_writing_until(Clock::time_point time) {
    const base::MutexLock lock(mutex_);
    writing_until_ = time;
  }

  void read_stream() {
    v1::StreamMessageResponse message;
    while (stream_->Read(&message)) {
      switch (message.update_case()) {
        case v1::StreamMessageResponse::kArbitration: hear(message.arbitration()); break;
        case v1::StreamMessageResponse::kPacket:
          if (DeviceListener* const to = listener_) to->hear_packet(message.packet());
          break;
        case v1::StreamMessageResponse::kDigest:
          if (DeviceListener* const to = listener_) to->hear_digests(message.digest());
          break;
        default: break;  // errors of sent packets, which their senders repeat
      }
    }
    const grpc::Status status = stream_->Finish();
    if (status.error_code() == kInvalidArgument) {
      lose(fmt::format("{} takes no other controller: {}; end the one that it has", place(),
                       text_of(status)));
    }
    lose(place() + " has ended the connection, or cannot be reached: " + text_of(status));
  }

  void hear(const v1::MasterArbitrationUpdate& arbitration) {
    const int code = arbitration.status().code();
    if (code == kNotFound && !is_settled()) {
      election_ = arbitration.election_id();
      election_.set_low(election_.low() + 1);
      ask_to_be_primary();
      return;
    }
    if (code != kOk) {
      lose(place() + " has another primary controller: end that one first");
      return;
    }
    const base::MutexLock lock(mutex_);
    is_primary_ = true;
    changed_.notify_all();
  }

  bool is_settled() const {
    const base::MutexLock lock(mutex_);
    return is_primary_ || !why_lost_.empty();
  }

  void lose(std::string why) {
    const base::MutexLock lock(mutex_);
    if (why_lost_.empty()) why_lost_ = std::move(why);
    changed_.notify_all();
  }

  const DeviceOptions options_;
  std::atomic<DeviceListener*> listener_ = nullptr;
  v1::Uint128 election_;  // does not change any more once this side is the primary
  const std::unique_ptr<v1::P4Runtime::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  // The stream takes one message at a time. Its other calls do not have to take turns.
  base::Mutex writing_;
  std::thread reader_;
  mutable base::Mutex mutex_;
  base::ConditionVariable changed_;
  bool is_primary_ GUARDED_BY(mutex_) = false;
  std::string why_lost_ GUARDED_BY(mutex_);
  Clock::time_point writing_until_ GUARDED_BY(mutex_) =
      Clock::time_point::max();  // no message waits
};

base::Attempt<std::unique_ptr<Device>> Device::connect(const DeviceOptions& options) {
  auto link = std::make_unique<Link>(options);
  if (const base::Attempt<void> done = link->become_primary(); !done) {
    return base::cannot(done.error());
  }
  return std::unique_ptr<Device>(new Device(std::move(link)));
}

Device::Device(std::unique_ptr<Link> link) : link_(std::move(link)) {}
Device::~Device() = default;

void Device::listen(DeviceListener& listener) { link_->listen(listener); }
void Device::disconnect() { link_->disconnect(); }

base::Attempt<void> Device::load(const v1::ForwardingPipelineConfig& program) {
  return link_->load(program);
}
base::Attempt<void> Device::write(const std::vector<v1::Update>& updates) {
  return link_->write(updates);
}
base::Attempt<std::vector<v1::Entity>> Device::read(const std::vector<v1::Entity>& wanted) {
  return link_->read(wanted);
}
base::Attempt<void> Device::remove(const std::vector<v1::Update>& deletions) {
  return link_->remove(deletions);
}
void Device::send(const v1::PacketOut& packet) { link_->send(packet); }
void Device::watch() { link_->watch(); }
void Device::acknowledge(const v1::DigestList& list) { link_->acknowledge(list); }
std::string Device::why_lost() const { return link_->why_lost(); }
const std::string& Device::address() const { return link_->address(); }

}  // namespace infold::p4
