// SPDX-License-Identifier: Apache-2.0
//
// How a process joins a job as one of its ranks. What is left open is taken from the environment,
// in infold's own names first, then in those of torchrun, Open MPI, PMI (mpirun, mpiexec) and
// Slurm; what is not there either has a default or is an error that names it.
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

// Whether ranks of one host sum in its memory first, so that the host sends one contribution.
enum class SharedMemory : std::uint8_t {
  automatic,  // where the job needs no network then, or a host sends half as many bytes, or less
  off,        // this rank does not
  always,     // wherever two ranks of a host can that both say so
};

struct JoinOptions {
  // Control addresses, "host:port", of the switches. INFOLD_SWITCHES, separated by commas.
  std::vector<std::string> switches;
  // Without switches: where rank 0 waits for the others, "host:port". INFOLD_RENDEZVOUS, or
  // MASTER_ADDR with the port after MASTER_PORT, which torchrun's own store uses.
  std::string rendezvous;
  // Called at rank 0 once it waits there, with the address that the others need: for a rendezvous
  // whose port is left open, as in "10.0.0.3:0".
  std::function<void(const std::string& address)> on_rendezvous;
  std::string job;  // INFOLD_JOB, TORCHELASTIC_RUN_ID or SLURM_JOB_ID; "default"
  int rank = -1;    // INFOLD_RANK, RANK, OMPI_COMM_WORLD_RANK, PMI_RANK, SLURM_PROCID
  int world = 0;    // INFOLD_WORLD, WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS

  Sites sites = Sites::automatic;
  int switch_weight = 1;  // of each switch's site, of Sites::mixed; 1 to 64
  int worker_weight = 1;  // of each worker's site, likewise

  // The local address, and thereby the interface, that packets leave from. Empty: of all interfaces
  // that reach the first switch, or rank 0, the fastest, then the nearest by a TCP handshake; see
  // Communicator::interface(). INFOLD_ADDRESS.
  std::string address;
  int mtu_bytes = 0;  // of the path; 0: of the route. 576 to 9216
  bool offload = true;

  // INFOLD_SHARED_MEMORY: auto, off or always.
  SharedMemory shared_memory = SharedMemory::automatic;
  // Ranks share memory only where this is equal, too. INFOLD_HOST.
  std::string host;

  // Check after each call that all ranks hold the same bits where they should, and fail the call
  // with `mismatch`, naming element, ranks and values, where they do not. Calls then run one after
  // the other and take several round trips. Ranks that disagree cannot join. INFOLD_VERIFY=1.
  bool verify = false;

  // When a switch stops, or is gone, join it again as soon as it is back, and make the calls in
  // flight once more, for as long as their deadlines allow, or this one's without calls. For calls
  // whose input a failure leaves as it was (CallOptions::keep_input); all ranks must have finished
  // the same calls. false: calls fail at once. INFOLD_REJOIN=0.
  bool rejoin = true;

  WireFormat wire = WireFormat::automatic;                       // for calls that leave it open
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // of calls, and of joining
  // Of the deadline, how long a host may take to answer at all when its job is joined.
  std::chrono::nanoseconds connect_deadline = std::chrono::hours(24);
  // Whether the environment may fill in what is left open. false for a program that has read it
  // already, and whose `automatic` therefore means that.
  bool use_environment = true;
  // Gives joining up, from any thread: it then fails with `cancelled`, within a second or so.
  std::stop_token stop;
};

}  // namespace infold
