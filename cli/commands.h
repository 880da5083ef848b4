// SPDX-License-Identifier: Apache-2.0
//
// Declares a function for each subcommand, in alphabetical order. The subcommand's file defines it.
#pragma once

#include <memory>
#include <vector>

#include "cli/line/command.h"

namespace infold::cli {

std::unique_ptr<Command> make_bench_allreduce_command();
std::unique_ptr<Command> make_bench_codec_command();
std::unique_ptr<Command> make_bench_compare_command();
std::unique_ptr<Command> make_bench_core_command();
std::unique_ptr<Command> make_bench_drivers_command();
std::unique_ptr<Command> make_bench_host_command();
std::unique_ptr<Command> make_bench_kernels_command();
std::unique_ptr<Command> make_bench_xdp_command();
std::unique_ptr<Command> make_completion_command();
std::unique_ptr<Command> make_demo_command();
std::unique_ptr<Command> make_demo_worker_command();
std::unique_ptr<Command> make_doctor_command();
std::unique_ptr<Command> make_emulate_command();
std::unique_ptr<Command> make_manual_command();
std::unique_ptr<Command> make_mix_command();
std::unique_ptr<Command> make_plan_command();
std::unique_ptr<Command> make_reproduce_command();
std::unique_ptr<Command> make_sim_command();
std::unique_ptr<Command> make_switch_command();
std::unique_ptr<Command> make_token_list_command();
std::unique_ptr<Command> make_token_new_command();
std::unique_ptr<Command> make_token_revoke_command();
std::unique_ptr<Command> make_token_secret_command();
std::unique_ptr<Command> make_token_show_command();
std::unique_ptr<Command> make_trace_check_command();
std::unique_ptr<Command> make_trace_perfetto_command();
std::unique_ptr<Command> make_trace_replay_command();
std::unique_ptr<Command> make_trace_show_command();
std::unique_ptr<Command> make_verify_command();
std::unique_ptr<Command> make_whatif_command();

// Makes all subcommands, in the order in which --help lists them.
std::vector<std::unique_ptr<Command>> make_commands();

}  // namespace infold::cli
