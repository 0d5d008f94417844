#pragma once

#include "comm/communicator.h"
#include "partition/cluster/cluster.h"

namespace penstock::runtime {

/// The machines of a job as a cluster: a device for each rank, in nodes by host, the ranks of a
/// node in their order. Memory is what CUDA devices have free, else an equal part of the host's;
/// speeds are 1. Latency and bandwidth of each pair of ranks are measured, one pair after the
/// other, by the job's own messages; so is the overlap, of which the median over neighbours is
/// taken. Every rank calls it, and gets the same.
partition::Cluster probe_topology(comm::Communicator& world);

}  // namespace penstock::runtime
