// SPDX-License-Identifier: Apache-2.0
//
// How a process joins a job as one of its ranks. Options that are left open come from the
// environment: first from infold's own variables, then from those of torchrun, Open MPI, PMI
// (mpirun, mpiexec) and Slurm. An option that is not there either has a default, or an error names
// it.
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
  automatic,  // on the switches, if any are named, else on the workers
  switches,
  workers,  // each rank sums a share: no switch is needed
  mixed,    // on both, by weight
};

// Whether ranks of one host first sum in its memory, so that the host sends one contribution.
enum class SharedMemory : std::uint8_t {
  automatic,  // if the job then needs no network, or a host sends half as many bytes, or less
  off,        // this rank does not
  always,     // if two ranks of a host can share memory and both say so
};

struct JoinOptions {
  // Control addresses, "host:port", of the switches. INFOLD_SWITCHES, separated by commas.
  std::vector<std::string> switches;
  // Without switches: where rank 0 waits for the others, "host:port". INFOLD_RENDEZVOUS, or
  // MASTER_ADDR with the port after MASTER_PORT, which torchrun's own store uses.
  std::string rendezvous;
  // Called at rank 0 once it waits there, with the address for the other ranks. For a rendezvous
  // whose port is left open, as in "10.0.0.3:0".
  std::function<void(const std::string& address)> on_rendezvous;
  std::string job;  // INFOLD_JOB, TORCHELASTIC_RUN_ID or SLURM_JOB_ID; "default"
  int rank = -1;    // INFOLD_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID
  int world = 0;    // INFOLD_WORLD, WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS

  Sites sites = Sites::automatic;  // INFOLD_SITES: automatic, switches, workers or mixed
  int switch_weight = 1;           // of each switch's site, of Sites::mixed; 1 to 64
  int worker_weight = 1;           // of each worker's site, likewise

  // The local address that packets leave from, and so the interface. If empty: among the interfaces
  // that reach the first switch, or rank 0, the fastest; among equals the nearest by a TCP
  // handshake. See Communicator::interface(). INFOLD_ADDRESS.
  std::string address;
  int mtu_bytes = 0;  // of the path; 0: of the route. 576 to 9216
  bool offload = true;

  // Threads that exchange this rank's packets, each with a socket and a share of the sites, so at
  // most as many as there are sites. 0: by the interface's speed, the processors and local_world. 1
  // to 64; ranks may differ, and sums have the same bits. INFOLD_DRIVERS.
  int drivers = 0;
  // Ranks of this host, which share its processors. 0: LOCAL_WORLD_SIZE,
  // OMPI_COMM_WORLD_LOCAL_SIZE, MPI_LOCALNRANKS or SLURM_NTASKS_PER_NODE, else 1.
  int local_world = 0;

  // INFOLD_SHARED_MEMORY: auto, off or always.
  SharedMemory shared_memory = SharedMemory::automatic;
  // Ranks share memory only if this is equal, too. INFOLD_HOST.
  std::string host;

  // Compares the results of all ranks after each call. If bits differ that should be equal, the
  // call fails with `mismatch`, which names element, ranks and values. Calls then run one after the
  // other and take several round trips. Ranks that disagree about this option cannot join.
  // INFOLD_VERIFY=1.
  bool verify = false;

  // When a switch stops or is gone, join it again as soon as it is back, and make the calls in
  // flight once more. This ends with the calls' deadlines, or without calls with the deadline
  // below. For calls whose input a failure leaves as it was (CallOptions::keep_input). All ranks
  // must have finished the same calls. false: calls fail at once. INFOLD_REJOIN=0.
  bool rejoin = true;

  WireFormat wire = WireFormat::automatic;                       // for calls that leave it open
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // of calls, and of joining
  // The part of the deadline within which a host must begin to answer when the rank joins.
  std::chrono::nanoseconds connect_deadline = std::chrono::hours(24);
  // Whether the environment may fill in options that are left open. false for a program that has
  // read the environment itself: its `automatic` then stays automatic.
  bool use_environment = true;
  // Stops joining, from any thread: joining then fails with `cancelled`, within about a second.
  std::stop_token stop;
};

}  // namespace infold
