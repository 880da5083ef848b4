// SPDX-License-Identifier: Apache-2.0
//
// infold demo-worker: one rank of `infold demo`, which starts it. The rank joins through an
// endpoint that loses packets both ways, and trains. Rank 0 prints a line for each step and one at
// the end.

#include <memory>
#include <string>

#include "api/joining/join.h"
#include "cli/commands.h"
#include "cli/line/join_flags.h"
#include "io/lossy_endpoint.h"
#include "study/demo/demo_processes.h"

namespace infold::cli {
namespace {

class DemoWorker final : public Command {
 public:
  std::string_view name() const override { return "demo-worker"; }
  std::string_view summary() const override { return "One worker of infold demo, which starts it"; }
  bool is_hidden() const override { return true; }

  void declare(Options& options) override {
    join_.declare(options);
    options.real("--loss", loss_, {0, 0.9}, "Probability that a packet is lost, each way");
    options.choice("--format", wire_, wire_names(), "Wire format of gradients");
    options.whole<std::uint64_t>("--seed", training_.seed, {0, 1'000'000'000},
                                 "Seed of data, batches and weights");
    options.whole<std::uint64_t>("--loss-seed", loss_seed_, {0, 2'000'000'000},
                                 "Seed of packet losses");
    options.whole<std::size_t>("--steps", training_.steps, {1, 5000}, "Training steps");
    options.whole<std::size_t>("--hash-step", training_.hash_step, {0, 5000},
                               "Step after which parameters are hashed");
    options.examples(
        "  infold demo-worker --switch 127.0.0.1:7700 --rank 0 --ranks 2 --loss 0.01 --json");
  }

  ExitCode run(Output& output) override {
    JoinOptions options = join_.join_options();
    options.wire = wire_of(wire_);
    options.rejoin = false;  // because the demo does not start a new switch
    const auto member =
        api::join_through(options, [this, &options](std::unique_ptr<io::Endpoint> endpoint) {
          io::LossyOptions lossy;
          lossy.loss = lossy.loss_of_received = loss_;
          lossy.seed = loss_seed_ * 1'000'003U + static_cast<std::uint64_t>(options.rank + 1);
          return std::make_unique<io::LossyEndpoint>(std::move(endpoint), lossy);
        });
    if (!member) return fail(output, member.error().message);
    rank::Member& own = **member;
    Communicator communicator(*member);
    const demo::TrainingResult result = demo::train_as_rank(
        training_, communicator, [&own] { return count(own); },
        [&output](const demo::StepReport& report) {
          output.object(demo::to_json(report));
          return true;
        });
    if (!result.error.empty()) return fail(output, result.error);
    if (communicator.rank() == 0) output.object(demo::end_to_json(result));
    return ExitCode::kDone;
  }

 private:
  static ExitCode fail(Output& output, const std::string& reason) {
    output.log("{}\n", reason);
    return ExitCode::kFailed;
  }

  static demo::PacketCounts count(rank::Member& member) {
    const io::EndpointCounters counters = member.endpoint_counters();
    const Statistics statistics = member.statistics();
    return {static_cast<std::int64_t>(counters.sent + counters.arrived),
            static_cast<std::int64_t>(counters.lost),
            static_cast<std::int64_t>(statistics.packets_resent),
            static_cast<std::int64_t>(statistics.packets_asked)};
  }

  JoinFlags join_;
  demo::TrainingOptions training_;
  double loss_ = 0.01;
  std::string wire_ = "native";
  std::uint64_t loss_seed_ = 1;
};

}  // namespace

std::unique_ptr<Command> make_demo_worker_command() { return std::make_unique<DemoWorker>(); }

}  // namespace infold::cli
