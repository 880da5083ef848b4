// SPDX-License-Identifier: Apache-2.0
//
// Calls whose layout is chosen: what the choice is told, and what it says. Ranks wait for no word
// of each other's; a call waits for the one on which its choice rests, which is
// sparse::LayoutChoice's kBehind such calls earlier and thus nearly always done.
#include "io/host/clock.h"
#include "rank/member.h"

namespace infold::rank {
namespace {

sparse::TensorKind kind_of(const CallRequest& request, const FormatChoice& choice) {
  return {choice.layout, choice.reduction, request.input.elements};
}

// The sets of blocks are words of this format.
constexpr core::WireFormat kSetFormat = core::WireFormat::i32;

}  // namespace

std::string find_sparse_obstacle(const core::WorkerOptions& worker,
                                 std::span<const std::string> site_names) {
  if (worker.formats.has(kSetFormat)) return "";
  std::string site = "a switch between this rank and the others";
  for (std::size_t i = 0; i < worker.sites.size() && i < site_names.size(); ++i) {
    if (worker.sites[i].formats.has(kSetFormat)) continue;
    site = "the site at " + site_names[i];
    break;
  }
  return site + " does not sum " + core::format_name(kSetFormat);
}

std::optional<Error> Member::refuse_sparse(const CallRequest& request,
                                           const FormatChoice& choice) const {
  if (choice.agreed) {
    return Error{Code::unsupported, "fixed32 cannot leave out zeros; choose another wire format"};
  }
  if (sparse_obstacle_.empty()) return std::nullopt;
  return Error{Code::unsupported,
               sparse_obstacle_ + ", in which ranks join what they have, so that no zeros can be " +
                   "left out; " +
                   (request.rows ? "pass the whole tensor" : "make the layout dense")};
}

// The same at all ranks, as requests and formats are.
bool Member::leaves_layout_open(const CallRequest& request, const FormatChoice& choice) {
  return request.options.layout == Layout::automatic &&
         request.collective == core::Collective::all_reduce && !request.is_list && !request.rows &&
         !choice.agreed && sparse::BlockSum::can_be_sparse(choice.reduction) &&
         sparse::LayoutChoice::is_long_enough(kind_of(request, choice));
}

// A call that is made again keeps what was chosen: other ranks may have begun it only now, and
// choose the same, because what is chosen from was done before.
std::optional<Error> Member::choose_layout(Call& call, const CallRequest& request,
                                           const FormatChoice& choice) {
  call.launched = io::monotonic_now();
  call.opinions = 0;
  for (;;) {
    const auto [is_over, is_idle] = driver_->with_worker([&](core::Worker& worker, base::Instant) {
      return std::pair(worker.failure().has_value(), active_.empty());
    });
    if (is_over) return Error{Code::aborted, "the job is over", -1, ""};
    call.begins_alone = is_idle;
    if (call.choice) return std::nullopt;
    std::unique_lock pool(pool_mutex_);
    if (layout_choice_.is_ready()) {
      call.choice = layout_choice_.next(kind_of(request, choice));
      return std::nullopt;
    }
    const std::uint64_t ended = transfers_ended_;
    transfer_ended_.wait(pool, [&] { return transfers_ended_ != ended; });
  }
}

// Beside the sum, and after it in the order of calls.
core::TransferRequest Member::opinions_request(Call& call) const {
  call.opinions = call.choice->opinion;
  core::TransferRequest request = sparse::blank_join();
  request.elements = 1;
  request.output = reinterpret_cast<std::byte*>(&call.opinions);
  request.input = request.output;
  request.deadline = call.description.deadline;
  return request;
}

void Member::note_outcome(const Call& call) {
  sparse::LayoutChoice::Outcome outcome;
  outcome.was_alone = call.begins_alone && calls_ == call.description.name.number;
  outcome.whole = io::monotonic_now() - call.launched;
  if (call.block_steps > 0) {
    outcome.present = call.block_sum->blocks_present();
    outcome.blocks = call.block_sum->blocks();
    outcome.joining = call.joined - call.launched;
    outcome.opinions = call.opinions;
  }
  const std::lock_guard lock(pool_mutex_);
  layout_choice_.done(call.choice->number, outcome);
}

}  // namespace infold::rank
