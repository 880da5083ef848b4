// SPDX-License-Identifier: Apache-2.0
//
// Feeds arbitrary answers of one or two join servers, in any order, through everything that a rank
// makes of them before it opens sockets: terms, a table of sites, a position at each, and the state
// machines. The two join servers take messages by turns; a message is a length and its bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "core/aggregator/aggregator.h"
#include "core/worker/worker.h"
#include "join/client/answer_reader.h"
#include "join/job_plan.h"
#include "rank/session/site_table.h"

namespace {

using namespace infold;

struct Host {
  join::AnswerReader reader;
  std::optional<join::JobTerms> terms;
  bool is_running = false;

  void read(const v1::JoinReply& reply) {
    const std::optional<join::Heard> heard = reader.read(reply);
    if (!heard) return;
    if (const auto* const told = std::get_if<join::JobTerms>(&*heard)) {
      terms = *told;
      reader.note_ready(true);
    } else if (const auto* const go = std::get_if<join::Go>(&*heard)) {
      terms->groups = go->groups;
      is_running = true;
    }
  }
};

// Uses the terms as JobSession does once all hosts have settled them.
void take_part(const JoinOptions& options, const join::Hello& hello,
               std::span<const rank::HostTerms> hosts) {
  rank::SiteTableInput input = {options, hello.datagram_bytes_max, 64, 448, {}};
  if (hello.site) input.own_site = *io::SocketAddress::parse_number(hello.site->address, "own");
  const Result<rank::SiteTable> table = rank::find_sites(input, hosts);
  if (!table) return;
  core::WorkerOptions worker = plan::worker_options(table->plan, table->rank);
  worker.transfers_max = 4;
  const core::Worker machine(worker);
  for (std::size_t tree = 0; tree < table->plan.trees.size(); ++tree) {
    for (std::uint16_t i = 0; i < table->plan.trees[tree].aggregators.size(); ++i) {
      static_cast<void>(plan::aggregator_options(table->plan, tree, i));
    }
  }
  if (!table->own) return;
  join::JobTerms flat = *hosts.front().terms;
  flat.groups.clear();
  flat.racks.clear();
  const core::Aggregator aggregator(join::aggregator_options(flat));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  join::Hello hello;
  hello.job = "job";
  hello.world = data[0] % 8 + 1U;
  hello.rank = data[1] % hello.world;
  hello.datagram_bytes_max = 1472;
  hello.small_slots = 64;
  hello.bulk_slots = 448;
  const bool has_two = (data[0] & 0x80) != 0;
  JoinOptions options;
  options.rank = static_cast<int>(hello.rank);
  options.world = static_cast<int>(hello.world);
  options.sites = Sites::switches;
  if ((data[0] & 0x40) != 0) {
    hello.site = join::SiteAddress{"127.0.0.1:9000", 1, true};
    options.sites = has_two ? Sites::mixed : Sites::workers;
  }
  std::vector<Host> hosts(has_two ? 2 : 1, Host{{hello, "the host"}, {}, false});
  std::size_t turn = 0;
  for (std::size_t at = 2; at + 2 <= size;) {
    const std::size_t bytes = (data[at] << 8 | data[at + 1]) % 1024U;
    at += 2;
    const std::size_t taken = std::min(bytes, size - at);
    v1::JoinReply reply;
    static_cast<void>(reply.ParseFromArray(data + at, static_cast<int>(taken)));
    hosts[turn++ % hosts.size()].read(reply);
    at += taken;
  }
  std::vector<rank::HostTerms> terms;
  for (Host& host : hosts) {
    if (host.is_running) {
      terms.push_back({&*host.terms, *io::SocketAddress::parse_number("10.0.0.1:7700", "host")});
    }
    static_cast<void>(host.reader.end("closed"));
    CHECK(host.reader.is_over());
  }
  const bool agree =
      terms.size() == hosts.size() && terms.front().terms->groups == terms.back().terms->groups;
  if (agree) take_part(options, hello, terms);
  return 0;
}
