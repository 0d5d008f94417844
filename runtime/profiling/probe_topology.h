#pragma once

#include "comm/communicator.h"
#include "partition/cluster/cluster.h"
#include "runtime/devices/device_links.h"

namespace penstock::runtime {

struct ProbedTopology {
  partition::Cluster cluster;
  DeviceLinks links = DeviceLinks::host;  // which were measured
};

/// The machines of a job as a cluster: a device for each rank, in nodes by host, the ranks of a
/// node in their order. Memory is what CUDA devices have free, else an equal part of the host's;
/// speeds are 1. Latency and bandwidth between ranks are measured as a job's messages go
/// (job_links.h): of sampled_links(), one pair of a node at a time. So is the overlap, of which the
/// median over neighbours is taken. Every rank calls it, and gets the same.
ProbedTopology probe_topology(comm::Communicator& world);

}  // namespace penstock::runtime
