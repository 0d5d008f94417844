#pragma once

#include "comm/communicator.h"
#include "partition/planner/cluster/cluster.h"
#include "runtime/devices/device_links.h"

namespace penstock::runtime {

struct ProbedTopology {
  partition::Cluster cluster;
  DeviceLinks links = DeviceLinks::host;  // kind of link that was measured
};

/// Describes the machines of a job as a cluster: one device per rank, one node per host, ranks in
/// order within a node. Memory is the free memory of a CUDA device, else an equal part of the
/// host's; speeds are 1. Latency and bandwidth are measured on the links that a job's messages take
/// (job_links.h), for sampled_links(), one pair per node at a time. The overlap is the median over
/// neighbouring ranks. All ranks call this together and get the same result.
ProbedTopology probe_topology(comm::Communicator& world);

}  // namespace penstock::runtime
