#include "runtime/planning/with_candidate.h"

#include <numeric>
#include <vector>

#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/placement/problem.h"
#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {

configs::Config with_candidate(configs::Config config, const partition::LayerSequence& sequence,
                               const partition::Candidate& candidate) {
  config.data.micro_batch_seconds = candidate.batch.seconds;
  config.data.micro_batches = candidate.batch.micro_batches;
  config.trainer.order = candidate.batch.order;
  config.pipeline.plan.clear();
  config.pipeline.stages = candidate.stages;
  config.pipeline.replicas = candidate.replicas;
  config.pipeline.schedule = candidate.schedule;
  config.pipeline.resident = candidate.resident;
  config.pipeline.shard_optimizer = candidate.shards_optimizer;
  partition::set_recomputation(config.pipeline, {candidate.selective, candidate.recomputed},
                               partition::names_of(sequence));
  return config;
}

partition::LinkRates slowest_link(const partition::Cluster& cluster) {
  std::vector<int> ring(static_cast<std::size_t>(cluster.size()));
  std::iota(ring.begin(), ring.end(), 0);
  return partition::slowest_of_ring(cluster, ring);
}

configs::Config with_buckets(configs::Config config, const partition::LinkRates& slowest) {
  config.pipeline.bucket_bytes = bucket_bytes(config.pipeline, slowest);
  return config;
}

}  // namespace penstock::runtime
