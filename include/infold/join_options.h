// SPDX-License-Identifier: Apache-2.0
//
// How a process joins a job as one of its ranks. What is left open is taken from the environment,
// in infold's own names first, then in those of torchrun, Open MPI, PMI (mpirun, mpiexec) and
// Slurm; what is not there either has a default or is an error that names it.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <infold/options.h>

namespace infold {

// Where the job's tensors are summed.
enum class Sites : std::uint8_t {
  automatic,  // on the switches, if any are named, else on the workers
  switches,
  workers,  // each rank sums a share: no switch is needed
  mixed,    // on both, by weight
};

struct JoinOptions {
  // Control addresses, "host:port", of the switches. INFOLD_SWITCHES, separated by commas.
  std::vector<std::string> switches;
  // Without switches: where rank 0 waits for the others, "host:port". INFOLD_RENDEZVOUS, or
  // MASTER_ADDR with the port after MASTER_PORT, which torchrun's own store uses.
  std::string rendezvous;
  std::string job;  // INFOLD_JOB, TORCHELASTIC_RUN_ID or SLURM_JOB_ID; "default"
  int rank = -1;    // INFOLD_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID
  int world = 0;    // INFOLD_WORLD, WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS

  Sites sites = Sites::automatic;
  int switch_weight = 1;  // of each switch's site, of Sites::mixed; 1 to 64
  int worker_weight = 1;  // of each worker's site, likewise

  // The local address, and thereby the interface, that packets leave from; empty: where the route
  // to the first switch, or to rank 0, leaves. INFOLD_ADDRESS.
  std::string address;
  int mtu_bytes = 0;  // of the path; 0: of the route. 576 to 9216
  bool offload = true;

  WireFormat wire = WireFormat::automatic;                       // for calls that leave it open
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // of calls, and of joining
};

}  // namespace infold
