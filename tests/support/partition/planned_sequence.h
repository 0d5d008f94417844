#pragma once

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/choose/with_found_schedule.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::test {

/// small_sequence() to be planned on so many equal devices of one node, `memory` bytes each: two
/// steps of four unequal micro-batches. `sequence` must outlive it. The hidden layer takes most
/// time. Nothing is offloaded.
inline partition::PlanningProblem planned_sequence(const partition::LayerSequence& sequence,
                                                   int devices, double memory) {
  partition::PlanningProblem problem;
  problem.model.sequence = &sequence;
  problem.model.costs = [](const partition::MicroBatchLengths& lengths) {
    double frames = 0;
    for (const std::int64_t length : lengths.frames) frames += static_cast<double>(length);
    std::vector<partition::LayerCost> costs;
    for (const double work : {2.0, 1.0, 4.0, 3.0})
      costs.push_back({"", frames * work, frames * work, frames * work});
    return costs;
  };
  problem.cluster.nodes = {"node"};
  problem.cluster.devices.resize(devices, {.kind = "core", .memory = memory});
  problem.cluster.node_links = {{.latency = 1, .bandwidth = 500}};
  problem.constraints.batches = {{.seconds = 4, .micro_batches = 4}};
  problem.constraints.schedules = {"1f1b", "gpipe"};
  problem.constraints.resident = 0;
  problem.model.sample = [](const partition::BatchDivision& batch, int replicas) {
    if (batch.seconds < 2) throw ConfigError("an utterance is longer");
    std::vector<partition::SampledStep> steps(2);
    for (int s = 0; s < 2; ++s)
      for (int m = 0; m < batch.micro_batches; ++m) {
        steps[s].audio_seconds += batch.seconds;
        const auto times = static_cast<std::int64_t>(batch.seconds);
        steps[s].micro_batches.push_back({{(7 + 2 * (m % 3) + s) * times / 4, 5 * times / 4}, {}});
        steps[s].replica.push_back(m % replicas);
      }
    return steps;
  };
  problem.model.bytes = [&sequence](const partition::Candidate& candidate) {
    const int runs = (candidate.batch.micro_batches + candidate.replicas - 1) / candidate.replicas;
    const partition::ChunkLoad load{
        {{{12, 5}}}, partition::schedule_of(candidate).of(runs), candidate.recomputed};
    return partition::ChunkBytes(sequence, {load}, {}, {});
  };
  return problem;
}

}  // namespace penstock::test
