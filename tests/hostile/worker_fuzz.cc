// SPDX-License-Identifier: Apache-2.0
//
// Gives the worker honest and hostile answers. It must not accept a wrong answer: outputs have
// either their old values or the right sums. The number of packets that it sends per input is
// bounded.
//
// Hostile answers have their data intact, or a wrong length. A job without tags cannot notice a
// flip within elements that keeps the UDP checksum right. The same holds for slot and round, so
// they are not flipped.
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "base/check.h"
#include "core/worker/worker.h"
#include "numeric/codec.h"
#include "tests/hostile/datagrams.h"
#include "tests/hostile/operations.h"

namespace {

using namespace infold;
using namespace infold::hostile;

constexpr std::uint32_t kChunkElements = 64;
constexpr std::uint32_t kTransfers = 8;
constexpr std::int32_t kUntouched = -77;
constexpr std::size_t kSentMax = 64;

struct Tensor {
  std::vector<std::int32_t> input;
  std::vector<std::int32_t> output;
  std::int32_t factor = 2;  // from an input to its result
};

class Run {
 public:
  explicit Run(Operations& operations) : operations_(operations), worker_(options()) {}

  void go() {
    for (int left = 300; left > 0 && !operations_.done(); --left) {
      step();
      drain();
      check_outputs();
    }
    CHECK_THAT(worker_.in_flight(), <=, 8);
  }

 private:
  static core::WorkerOptions options() {
    core::WorkerOptions options;
    options.rank = 1;
    options.world = 2;
    options.limits.datagram_bytes_max = 1472;
    options.limits.elements_max = kChunkElements;
    options.sites = {{.worker = 1, .job = kJob, .epoch = kEpoch},
                     {.worker = 0, .weight = 2, .job = kJob, .epoch = kEpoch}};
    options.small_slots = 2;
    options.bulk_slots = 2;
    options.transfers_max = kTransfers;
    options.check_period = 1;
    return options;
  }

  void step() {
    switch (operations_.below(12)) {
      case 0:
      case 1: return submit();
      case 2:
      case 3:
      case 4:
      case 5: return answer(false);
      case 6:
      case 7: return answer(true);
      case 8: return pending();
      case 9: {
        const auto raw = std::as_bytes(operations_.take(operations_.byte()));
        return handle(site(), raw);
      }
      case 10:
        if (const auto due = worker_.poll_timeout()) {
          now_ = std::max(now_, *due);
          worker_.handle_timeout(now_);
        }
        return;
      default:
        if (operations_.byte() == 255) worker_.cancel(now_);
        now_ = now_ + base::microseconds(operations_.byte());
    }
  }

  void handle(std::uint8_t site, std::span<const std::byte> datagram) {
    const std::uint64_t digest = worker_.digest();
    worker_.expect(site, datagram);
    CHECK_THAT(worker_.digest(), ==, digest);
    worker_.handle_datagram(now_, site, datagram);
  }

  std::uint8_t site() { return static_cast<std::uint8_t>(operations_.below(2)); }

  void submit() {
    if (tensors_.size() >= 4 * kTransfers) return;
    auto tensor = std::make_unique<Tensor>();
    const std::size_t elements = 1 + operations_.byte() * 2U;
    for (std::size_t i = 0; i < elements; ++i) {
      tensor->input.push_back(static_cast<std::int32_t>(tensors_.size() * 1000 + i));
    }
    tensor->output.assign(elements, kUntouched);
    core::TransferRequest request;
    request.elements = elements;
    if (tensors_.size() % 3 == 2) {
      request.collective = core::Collective::broadcast;
      request.root = 1;
      tensor->factor = 1;
    }
    request.codec = numeric::codec(core::DataType::i32, core::WireFormat::i32, core::Reduction::sum,
                                   request.collective);
    request.input = reinterpret_cast<const std::byte*>(tensor->input.data());
    request.output = reinterpret_cast<std::byte*>(tensor->output.data());
    tensors_.push_back(std::move(tensor));
    if (!worker_.submit(now_, request)) tensors_.pop_back();
  }

  // The other rank has the same numbers, so a sum is twice the input. A broadcast is from this
  // rank, and its result has the input or no elements.
  void answer(bool hostile) {
    if (sent_.empty()) return;
    const auto& [to, contribution] = sent_[operations_.byte() % sent_.size()];
    core::Packet packet;
    CHECK(core::parse(contribution, packet) == core::Malformed::none);
    if (packet.header.kind != core::Kind::add) return;
    core::Header header = packet.header;
    header.kind = core::Kind::result;
    const bool is_sum = header.signature.collective() == core::Collective::all_reduce;
    if (is_sum) header.contributors = {2, 2, core::rank_digest(0) + core::rank_digest(1)};
    Datagram result = contribution;
    core::write_header(header, result);
    if (!is_sum && operations_.below(2) == 0) result.resize(INFOLD_HEADER_BYTES);
    for (std::size_t at = INFOLD_HEADER_BYTES; at < result.size(); at += 4) {
      std::int32_t value;
      std::memcpy(&value, result.data() + at, 4);
      value *= is_sum ? 2 : 1;
      std::memcpy(result.data() + at, &value, 4);
    }
    const bool forges = hostile && operations_.below(2) == 0;
    if (forges) {
      forge(result);
    } else if (operations_.below(4) == 0 && is_sum) {
      result = in_quarters(result);  // as an aggregator may answer
    }
    if (hostile && !forges) damage(result);
    handle(to, result);
  }

  // Puts wrong numbers into a packet whose header shows that it is wrong. The worker must not
  // accept any of it.
  void forge(Datagram& datagram) {
    // Flags, job, epoch, elements, format, operation, shape, contributors, digest.
    static constexpr std::array<std::size_t, 9> telling = {2, 5, 11, 17, 18, 19, 23, 25, 31};
    for (std::size_t at = INFOLD_HEADER_BYTES; at < datagram.size(); at += 4) {
      datagram[at] ^= std::byte{0x55};
    }
    const std::size_t at = telling[operations_.below(telling.size())];
    datagram[at] ^= at == 2 ? static_cast<std::byte>(INFOLD_FLAG_PARTIAL) : std::byte{1};
  }

  void damage(Datagram& datagram) {
    const std::size_t at = operations_.below(INFOLD_HEADER_BYTES);
    const bool names_chunk = at == 6 || at == 7 || (at >= 12 && at < 16);
    if (!names_chunk) datagram[at] ^= static_cast<std::byte>(operations_.byte());
    if (operations_.below(2) == 1) {
      datagram.resize(operations_.byte() * datagram.size() / 256 + operations_.below(2));
    }
  }

  void pending() {
    if (sent_.empty()) return;
    const auto& [to, contribution] = sent_[operations_.byte() % sent_.size()];
    core::Packet packet;
    CHECK(core::parse(contribution, packet) == core::Malformed::none);
    core::Header header = packet.header;
    header.kind = core::Kind::pending;
    header.contributors = {};
    header.flags = 0;
    std::array<std::byte, INFOLD_HEADER_BYTES + sizeof(infold_rank_range)> datagram;
    core::write_header(header, datagram);
    const core::RankRange missing = {static_cast<std::uint16_t>(operations_.below(3)), 1};
    core::write_missing({&missing, 1}, core::PendingForm::ranges, 3,
                        datagram.data() + INFOLD_HEADER_BYTES);
    handle(to, datagram);
  }

  void drain() {
    std::array<std::byte, 1472> out;
    std::size_t count = 0;
    while (const auto sent = worker_.poll_transmit(now_, out)) {
      CHECK_THAT(++count, <=, kSentMax);
      CHECK_THAT(sent->bytes, <=, out.size());
      if (sent_.size() == 64) sent_.erase(sent_.begin());
      sent_.push_back({sent->site, Datagram(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(
                                                                           sent->bytes))});
    }
    while (const auto event = worker_.poll_event()) {
      CHECK_THAT(static_cast<std::uint64_t>(event->id), >, last_event_);
      if (event->failure) continue;
      const Tensor& tensor = *tensors_.at(static_cast<std::size_t>(event->id) - 1);
      for (const std::int32_t value : tensor.output) CHECK_THAT(value, !=, kUntouched);
    }
  }

  void check_outputs() {
    for (const auto& tensor : tensors_) {
      for (std::size_t i = 0; i < tensor->input.size(); ++i) {
        const std::int32_t value = tensor->output[i];
        if (value != kUntouched) CHECK_THAT(value, ==, tensor->factor * tensor->input[i]);
      }
    }
  }

  Operations& operations_;
  core::Worker worker_;
  base::Instant now_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::pair<std::uint8_t, Datagram>> sent_;  // the newest 64
  std::uint64_t last_event_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Operations operations(data, size);
  Run(operations).go();
  return 0;
}
