#include "runtime/planning/with_choice.h"

#include <numeric>
#include <vector>

#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/placement/problem.h"
#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {

configs::Config with_choice(configs::Config config, const partition::LayerSequence& sequence,
                            const partition::PlanChoice& choice) {
  config.data.micro_batch_seconds = choice.batch.seconds;
  config.data.micro_batches = choice.batch.micro_batches;
  config.trainer.order = choice.batch.order;
  config.pipeline.plan.clear();
  config.pipeline.stages = choice.stages;
  config.pipeline.replicas = choice.replicas;
  config.pipeline.schedule = choice.schedule;
  config.pipeline.resident = choice.resident;
  config.pipeline.shard_optimizer = choice.shards_optimizer;
  partition::set_recomputation(config.pipeline, {choice.selective, choice.recomputed},
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
