// SPDX-License-Identifier: Apache-2.0
//
// How a process joins a job as one of its ranks. The environment fills in options that are left
// open: first infold's own variables, then those of torchrun, Open MPI, PMI (mpirun, mpiexec) and
// Slurm. If the environment lacks an option as well, it has its default, or an error names it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/options.h>

namespace infold {

// Where the job's tensors are summed.
enum class Sites : std::uint8_t {
  automatic,  // on the switches if any are named, else on the workers
  switches,
  workers,  // each rank sums a share: no switch is needed
  mixed,    // on both, by weight
};

// Whether the ranks of a host first sum in its memory, so that the host sends one contribution.
enum class SharedMemory : std::uint8_t {
  automatic,  // if the job then needs no network, or a host sends at most half as many bytes
  off,        // this rank does not share memory
  always,     // if two ranks of a host can share memory and both say so
};

struct JoinOptions {
  // The join addresses of the switches, "host:port", or for switches with keys the strings to join
  // them with, "host:port#fingerprint.token". "@path" stands for the strings in a file.
  // INFOLD_SWITCHES, separated by commas.
  std::vector<std::string> switches;
  // Without switches: where rank 0 waits for the others, "host:port". INFOLD_RENDEZVOUS, or
  // MASTER_ADDR with MASTER_PORT + 1, because torchrun's own store uses MASTER_PORT. With a secret
  // of 16 characters or more behind a '#', only ranks that have it can join. INFOLD_TOKEN.
  std::string rendezvous;
  // Called at rank 0 once it waits there, with the address for the other ranks. It is meant for a
  // rendezvous whose port is left open, such as "10.0.0.3:0".
  std::function<void(const std::string& address)> on_rendezvous;
  std::string job;  // INFOLD_JOB, TORCHELASTIC_RUN_ID or SLURM_JOB_ID; "default"
  int rank = -1;    // INFOLD_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID
  int world = 0;    // INFOLD_WORLD, WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS

  Sites sites = Sites::automatic;  // INFOLD_SITES: automatic, switches, workers or mixed
  int switch_weight = 1;           // the weight of each switch's site, with Sites::mixed; 1 to 64
  int worker_weight = 1;           // the weight of each worker's site, with Sites::mixed; 1 to 64

  // The local address that packets leave from, which also chooses the interface. If it is empty,
  // infold takes the fastest interface that reaches the first switch, or rank 0. Among equally fast
  // ones it takes the one with the shortest TCP handshake. See Communicator::interface().
  // INFOLD_ADDRESS.
  std::string address;
  int mtu_bytes = 0;  // the path's MTU, 576 to 9216; 0 takes the route's MTU
  bool offload = true;

  // The number of threads that exchange this rank's packets, 1 to 64. Each has a socket and a share
  // of the sites, so there are at most as many threads as sites. With 0 the interface's speed, the
  // processors and local_world decide. Ranks may differ, and sums keep the same bits.
  // INFOLD_DRIVERS.
  int drivers = 0;
  // The number of ranks on this host, which share its processors. 0: LOCAL_WORLD_SIZE,
  // OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS or SLURM_NTASKS_PER_NODE, else 1.
  int local_world = 0;

  // INFOLD_SHARED_MEMORY: auto, off or always.
  SharedMemory shared_memory = SharedMemory::automatic;
  // Ranks share memory only if they also agree on this name. INFOLD_HOST.
  std::string host;

  // Compares the results of all ranks after each call. If bits differ that should be equal, the
  // call fails with `mismatch`, and the error names element, ranks and values. With this option
  // calls run one after the other and take several round trips. Ranks that disagree about it cannot
  // join. INFOLD_VERIFY=1.
  bool verify = false;

  // When a switch stops or is gone, infold joins it again as soon as it is back, and repeats the
  // calls in flight. It gives up at the calls' deadlines, or without calls at the deadline below.
  // This works for calls whose input survives a failure (CallOptions::keep_input), and only if all
  // ranks have finished the same calls. false: calls fail at once. INFOLD_REJOIN=0.
  bool rejoin = true;

  WireFormat wire = WireFormat::automatic;                       // for calls that leave it open
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // for calls and for joining
  // How long a host may take to begin its answer when the rank joins, within the deadline.
  std::chrono::nanoseconds connect_deadline = std::chrono::hours(24);
  // Whether the environment may fill in options that are left open. A program that has read the
  // environment itself sets this to false, so that its `automatic` stays automatic.
  bool use_environment = true;
  // A request to stop, from any thread, makes joining fail with `cancelled` within about a second.
  std::stop_token stop;
};

}  // namespace infold
