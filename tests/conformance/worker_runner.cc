// SPDX-License-Identifier: Apache-2.0
//
// Turns worker steps into calls of core::Worker.
#include "tests/conformance/worker_runner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "numeric/codec.h"
#include "tests/conformance/text/tensor_text.h"

namespace infold::conformance {
namespace {

constexpr std::uint16_t kJob = 7;
constexpr std::uint32_t kEpoch = 3;
constexpr std::byte kUntouched{0xEE};

std::uint16_t u16(std::int64_t value) { return static_cast<std::uint16_t>(value); }

}  // namespace

bool is_worker_step(const Step& step) {
  static const std::array<std::string, 6> verbs = {"rank",    "submit", "receive",
                                                   "timeout", "cancel", "leave"};
  return std::find(verbs.begin(), verbs.end(), step.tokens.at(0)) != verbs.end();
}

void WorkerRunner::run(const Step& step) {
  Cursor cursor(step);
  const std::string verb = cursor.take_word();
  if (verb == "rank") return join(cursor);
  if (!worker_) cursor.fail("a worker's steps begin with 'rank N of M'");
  before_ = worker_->counters();
  if (verb == "submit") {
    submit(step, cursor);
  } else if (verb == "receive") {
    receive(step, cursor);
  } else if (verb == "cancel") {
    worker_->cancel(now_);
  } else if (verb == "leave") {
    worker_->leave(now_);
  } else {
    const auto due = worker_->poll_timeout();
    if (!due) cursor.fail("no timer is running");
    now_ = std::max(now_, *due);
    worker_->handle_timeout(now_);
  }
  take_events();
  if (!cursor.accept("expect")) cursor.fail("a worker's step needs an 'expect'");
  do expect(step, cursor);
  while (cursor.accept("and"));
  if (!cursor.done()) cursor.fail("'" + cursor.peek() + "' does not belong here");
  expect_quiet(step);
}

// Reads "rank 0 of 2 small 1 bulk 2 limit 64 sites [1 2]", which gives sites by their weights.
void WorkerRunner::join(Cursor& cursor) {
  core::WorkerOptions options;
  options.rank = rank_ = u16(cursor.take_number());
  options.small_slots = 1;
  options.bulk_slots = 2;
  options.limits.datagram_bytes_max = 1472;
  options.check_period = 1;
  options.limits.elements_max = INFOLD_BLOCK_ELEMENTS_F64;
  std::vector<std::int64_t> weights = {1};
  bool takes_sparse = false;
  while (!cursor.done()) {
    if (cursor.accept("of")) {
      options.world = world_ = u16(cursor.take_number());
    } else if (cursor.accept("small")) {
      options.small_slots = u16(cursor.take_number());
    } else if (cursor.accept("bulk")) {
      options.bulk_slots = u16(cursor.take_number());
    } else if (cursor.accept("limit")) {
      options.limits.elements_max = static_cast<std::uint32_t>(cursor.take_number());
    } else if (cursor.accept("sparse")) {
      takes_sparse = true;
    } else if (cursor.accept("sites")) {
      weights = cursor.take_numbers();
    } else {
      cursor.fail("a worker has no '" + cursor.peek() + "'");
    }
  }
  for (const std::int64_t weight : weights) {
    options.sites.push_back({.worker = static_cast<std::uint8_t>(rank_),
                             .weight = u16(weight),
                             .job = kJob,
                             .epoch = kEpoch,
                             .takes_sparse = takes_sparse});
  }
  worker_.emplace(options);
  last_ = PacketText{};
}

// Reads "submit i32 sum all_reduce [1 2 3]". "root N" names the root, and "blocks" leaves out
// zeros. "rows N at [4 9] [5 6]" is a tensor of N elements with 5 and 6 at those places.
void WorkerRunner::submit(const Step& step, Cursor& cursor) {
  PacketText fields;
  std::vector<std::string> values;
  std::int64_t root = 0;
  bool is_sparse = false;
  auto call = std::make_unique<Call>();
  while (cursor.peek() != "expect") {
    if (cursor.peek() == "[") {
      values = cursor.take_list();
    } else if (cursor.accept("root")) {
      root = cursor.take_number();
    } else if (cursor.accept("blocks")) {
      is_sparse = true;
    } else if (cursor.accept("rows")) {
      call->row_count = static_cast<std::uint64_t>(cursor.take_number());
      if (!cursor.accept("at")) cursor.fail("rows need 'at [PLACES]'");
      call->rows = cursor.take_numbers();
    } else {
      Step one{step.where, {cursor.take_word()}};
      Cursor word(one);
      read_fields(word, fields);
    }
  }
  core::TransferRequest request = request_of(step, fields, values, *call);
  request.root = u16(root);
  last_ = PacketText{};
  last_.signature = fields.signature;
  if (call->row_count > 0) request.elements = call->row_count;
  last_.signature.last_elements = static_cast<std::int64_t>(request.elements);
  last_.signature.shape = static_cast<std::uint32_t>(request.elements) +
                          static_cast<std::uint32_t>(root) * INFOLD_SHAPE_ROOT_FACTOR;
  // A refused call gives the outcome "refused", and the worker sends nothing.
  if (start(*call, request, is_sparse)) calls_.push_back(std::move(call));
}

core::TransferRequest WorkerRunner::request_of(const Step& step, const PacketText& fields,
                                               const std::vector<std::string>& values,
                                               Call& call) const {
  core::TransferRequest request;
  request.layout = layout_of(fields.signature);
  request.collective = static_cast<core::Collective>(fields.signature.collective);
  request.reduction = static_cast<core::Reduction>(fields.signature.reduction);
  request.elements = values.size();
  request.codec = numeric::codec(request.layout.dtype, request.layout.format, request.reduction,
                                 request.collective);
  call.dtype = request.layout.dtype;
  call.input = tensor_bytes(step, call.dtype, values);
  call.output.assign(call.input.size(), kUntouched);
  request.input = call.input.data();
  request.output = call.output.data();
  return request;
}

// Returns false if the worker refuses the call.
bool WorkerRunner::start(Call& call, const core::TransferRequest& request, bool is_sparse) {
  if (call.row_count > 0) {
    const sparse::Rows rows = {call.dtype, call.rows, call.input.data(), 1};
    call.block_sum.begin({.dense = request,
                          .input_rows = rows,
                          .output_row_elements = 1,
                          .rank = rank_,
                          .world = world_});
  } else if (is_sparse) {
    call.block_sum.begin({.dense = request, .rank = rank_, .world = world_});
  }
  if (call.row_count > 0 || is_sparse) call.block_steps = call.block_sum.steps();
  for (std::uint32_t i = 0; i < std::max(1U, call.block_steps); ++i) {
    const auto id = worker_->submit(now_, call.block_steps > 0 ? call.block_sum.step(i) : request);
    if (!id) return false;
    call.last_transfer = static_cast<std::uint64_t>(*id);
    if (i == 0) call.first_transfer = call.last_transfer;
  }
  return true;
}

// The end of one step of a call begins the next step.
void WorkerRunner::take_events() {
  while (const auto event = worker_->poll_event()) {
    const auto id = static_cast<std::uint64_t>(event->id);
    const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const auto& each) {
      return each->first_transfer <= id && id <= each->last_transfer;
    });
    Call& call = **found;
    if (event->failure || call.first_transfer == call.last_transfer) {
      events_.push_back(*event);
    } else if (id < call.last_transfer) {
      begin_next_step(call, static_cast<std::uint32_t>(id - call.first_transfer));
    } else {
      finish(call);
      events_.push_back(*event);
    }
  }
}

void WorkerRunner::begin_next_step(Call& call, std::uint32_t done) {
  const std::uint64_t elements = call.block_sum.size_after(done);
  if (call.row_count > 0 && done + 2 == call.block_steps) {
    call.output.resize(call.block_sum.staged_bytes());
    call.block_sum.stage(call.output.data());
  }
  worker_->set_size(core::TransferId{call.first_transfer + done + 1}, elements,
                    call.block_sum.own_after(done));
}

void WorkerRunner::finish(Call& call) {
  call.block_sum.finish();
  if (call.row_count == 0) return;
  call.rows.resize(call.block_sum.rows_found());
  call.block_sum.take_rows(call.rows.data());
  call.output.resize(call.rows.size() * element_bytes(call.dtype));
}

void WorkerRunner::receive(const Step& step, Cursor& cursor) {
  PacketText packet = last_;
  packet.job = kJob;
  packet.epoch = kEpoch;
  packet.kind = INFOLD_KIND_RESULT;
  packet.worker = rank_;
  packet.ranks = {{0, world_}};
  packet.elements.clear();
  std::uint8_t site = 0;
  if (cursor.accept("site")) site = static_cast<std::uint8_t>(cursor.take_number());
  read_fields(cursor, packet);
  if (packet.kind == INFOLD_KIND_PENDING || ends_job(packet.kind)) packet.ranks.clear();
  if (ends_job(packet.kind)) packet.slot = packet.round = 0;
  worker_->handle_datagram(now_, site, to_bytes(packet, step.where));
}

void WorkerRunner::expect(const Step& step, Cursor& cursor) {
  if (cursor.accept("none")) return;
  if (cursor.accept("refused")) {
    if (!worker_->failure()) cursor.fail("the call was not refused");
    return;
  }
  if (cursor.accept("send")) return expect_send(step, cursor);
  if (cursor.accept("done")) return expect_done(step, cursor);
  if (cursor.accept("failed")) return expect_failed(step, cursor);
  if (!cursor.accept("drop")) cursor.fail("cannot expect '" + cursor.peek() + "'");
  const std::string wanted = cursor.take_word();
  const std::string got = drop_reason();
  if (got != wanted) cursor.fail("expected a drop: " + wanted + ", got: " + got);
}

std::string WorkerRunner::drop_reason() {
  const core::WorkerCounters& now = worker_->counters();
  if (now.dropped_malformed > before_.dropped_malformed) return "malformed";
  if (now.dropped_foreign > before_.dropped_foreign) return "foreign";
  if (now.dropped_repeat > before_.dropped_repeat) return "repeat";
  if (now.dropped_unexpected > before_.dropped_unexpected) return "unexpected";
  return "taken";
}

void WorkerRunner::expect_send(const Step& step, Cursor& cursor) {
  PacketText packet = last_;
  packet.job = kJob;
  packet.epoch = kEpoch;
  packet.worker = rank_;
  packet.elements.clear();
  packet.codes.clear();
  packet.ranks.clear();
  std::uint8_t site = 0;
  if (cursor.accept("site")) site = static_cast<std::uint8_t>(cursor.take_number());
  read_fields(cursor, packet);
  if (packet.kind == INFOLD_KIND_ADD) packet.ranks = {{rank_, 1}};
  if (ends_job(packet.kind)) packet.slot = packet.round = 0;
  last_.slot = packet.slot;
  last_.round = packet.round;
  const std::vector<std::byte> wanted = to_bytes(packet, step.where);
  std::array<std::byte, 2048> out;
  const auto sent = worker_->poll_transmit(now_, out);
  if (!sent) throw VectorError(step.where + ": sends nothing\n  expected " + describe(wanted));
  const std::vector<std::byte> got(out.begin(),
                                   out.begin() + static_cast<std::ptrdiff_t>(sent->bytes));
  if (got != wanted || sent->site != site) {
    throw VectorError(step.where + ": sends another packet\n  expected site " +
                      std::to_string(site) + ": " + describe(wanted) + "\n  got      site " +
                      std::to_string(sent->site) + ": " + describe(got));
  }
}

// Reads "done call 1 [11 12] summed 2". The first call is number 1, which is also the default. A
// call in rows has "at [4 9] [5 6]".
void WorkerRunner::expect_done(const Step& step, Cursor& cursor) {
  std::int64_t number = 1;
  if (cursor.accept("call")) number = cursor.take_number();
  const Call& call = *calls_.at(static_cast<std::size_t>(number - 1));
  const std::optional<core::Event> event = take_event();
  if (!event || event->failure || static_cast<std::uint64_t>(event->id) != call.last_transfer) {
    cursor.fail("call " + std::to_string(number) + " has not completed");
  }
  if (cursor.accept("at") && cursor.take_numbers() != call.rows) {
    cursor.fail("the result has other rows");
  }
  if (!cursor.done() && cursor.peek() == "[") {
    const std::vector<std::byte> wanted = tensor_bytes(step, call.dtype, cursor.take_list());
    if (call.output != wanted) {
      cursor.fail("another result\n  expected " + tensor_words(call.dtype, wanted) +
                  "\n  got      " + tensor_words(call.dtype, call.output));
    }
  }
  if (cursor.accept("summed") && cursor.take_number() != event->ranks_summed) {
    cursor.fail("ranks summed: " + std::to_string(event->ranks_summed));
  }
}

std::optional<core::Event> WorkerRunner::take_event() {
  if (events_.empty()) return std::nullopt;
  const core::Event event = events_.front();
  events_.pop_front();
  return event;
}

void WorkerRunner::expect_failed(const Step& step, Cursor& cursor) {
  const std::string wanted = cursor.take_word();
  const std::optional<core::Event> event = take_event();
  if (!event || !event->failure) throw VectorError(step.where + ": no call failed");
  const std::string got = code_name(event->failure->error.code);
  if (got != wanted) throw VectorError(step.where + ": failed with " + got + ", not " + wanted);
}

void WorkerRunner::expect_quiet(const Step& step) {
  std::array<std::byte, 2048> out;
  if (const auto sent = worker_->poll_transmit(now_, out)) {
    throw VectorError(
        step.where + ": sends more than expected\n  got " +
        describe({out.begin(), out.begin() + static_cast<std::ptrdiff_t>(sent->bytes)}));
  }
  if (take_event()) throw VectorError(step.where + ": a call ended that was not expected");
}

}  // namespace infold::conformance
