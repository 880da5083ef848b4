// SPDX-License-Identifier: Apache-2.0
//
// The list of subcommands. A new subcommand needs one line here, one line in commands.h, and a file
// of its own.

#include "cli/commands.h"

namespace infold::cli {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_bench_allreduce_command());
  commands.push_back(make_bench_codec_command());
  commands.push_back(make_bench_compare_command());
  commands.push_back(make_bench_core_command());
  commands.push_back(make_bench_drivers_command());
  commands.push_back(make_bench_host_command());
  commands.push_back(make_bench_kernels_command());
  commands.push_back(make_bench_xdp_command());
  commands.push_back(make_completion_command());
  commands.push_back(make_demo_command());
  commands.push_back(make_demo_worker_command());
  commands.push_back(make_doctor_command());
  commands.push_back(make_emulate_command());
  commands.push_back(make_manual_command());
  commands.push_back(make_mix_command());
  commands.push_back(make_plan_command());
  commands.push_back(make_reproduce_command());
  commands.push_back(make_sim_command());
  commands.push_back(make_switch_command());
  commands.push_back(make_token_list_command());
  commands.push_back(make_token_new_command());
  commands.push_back(make_token_revoke_command());
  commands.push_back(make_token_secret_command());
  commands.push_back(make_token_show_command());
  commands.push_back(make_trace_check_command());
  commands.push_back(make_trace_perfetto_command());
  commands.push_back(make_trace_replay_command());
  commands.push_back(make_trace_show_command());
  commands.push_back(make_verify_command());
  commands.push_back(make_whatif_command());
  return commands;
}

}  // namespace infold::cli
