#include "runtime/pipeline/session.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/plan_schedule.h"
#include "runtime/pipeline/gradient_buckets.h"

// A session is built from the outside in, and each step needs the one before. The number of ranks
// is checked before a device is touched. The device is chosen before the grid, over the whole job.
// Checks that concern several ranks, equal devices of replicas and free memory, come before the
// first large allocation, because they fail on all ranks together, while an allocation fails on
// one. The stage comes last: it allocates all that the plan counted.
//
// The stream is made before the stage and calls its progress later, so progress goes through a
// function that looks whether the stage is there.

namespace penstock::runtime {
namespace {

void require_ranks(int stages, int replicas, int ranks, const std::string& plan_file) {
  if (stages * replicas == ranks) return;
  const std::string keys = plan_file.empty() ? "pipeline.stages and pipeline.replicas"
                                             : fmt::format("{} (pipeline.plan)", plan_file);
  throw ConfigError(
      fmt::format("the job has {}, but {} × {} need {}: start it with mpirun -np {}, or change {}",
                  counted(ranks, "rank"), counted(stages, "stage"), counted(replicas, "replica"),
                  stages * replicas, stages * replicas, keys));
}

StageOptions part_of(const SessionOptions& options, const partition::StageReplica& here) {
  const configs::Config& config = options.config;
  StageOptions part;
  part.stage = here.stage;
  part.cut = options.plan.cut();
  part.recompute = partition::recomputed_layers(config.pipeline, options.sequence);
  part.schedule = partition::schedule_of(options.plan);
  part.store.lanes = options.plan.lanes_of_replicas().at(here.replica);
  part.store.slots = options.slots;
  part.store.kinds.sharing = sharing_of(config.pipeline);
  part.store.kinds.slots = slot_format(config.optimizer);
  part.store.replica = here.replica;
  part.seed = config.trainer.seed;
  part.sizes = backend_sizes(config);
  return part;
}

RankDevice choose_for(const partition::Plan& plan, comm::Communicator& world,
                      const configs::Config& config) {
  require_ranks(plan.stages(), plan.replicas(), world.size(), config.pipeline.plan);
  return choose_device(config.trainer, world, config.precision);
}

}  // namespace

void check_ranks(const configs::Config& config, int ranks) {
  require_ranks(config.pipeline.stages, config.pipeline.replicas, ranks, config.pipeline.plan);
}

layers::DType compute_type(const configs::PrecisionConfig& precision) {
  if (precision.compute == "fp32" || precision.compute == "tf32") return layers::DType::f32;
  if (precision.compute == "fp16") return layers::DType::f16;
  if (precision.compute == "bf16") return layers::DType::bf16;
  throw ConfigError(fmt::format("precision.compute is \"{}\", expected fp32, tf32, fp16 or bf16",
                                precision.compute));
}

partition::Sharing sharing_of(const configs::PipelineConfig& pipeline) {
  return {pipeline.shard_optimizer ? pipeline.replicas : 1, bucket_bytes(pipeline)};
}

partition::SlotFormat slot_format(const configs::OptimizerConfig& optimizer) {
  if (optimizer.state == "fp32") return partition::SlotFormat::full;
  if (optimizer.state == "bf16") return partition::SlotFormat::bf16;
  if (optimizer.state == "8bit") return partition::SlotFormat::codes;
  throw ConfigError(
      fmt::format("optimizer.state is \"{}\", expected fp32, bf16 or 8bit", optimizer.state));
}

layers::BackendSizes backend_sizes(const configs::Config& config) {
  return {device_kind(config.trainer), compute_type(config.precision),
          fp32_products(config.precision)};
}

Session::Session(comm::Communicator& world, const SessionOptions& options)
    : Session(world, choose_for(options.plan, world, options.config), options) {}

Session::Session(comm::Communicator& world, RankDevice device, const SessionOptions& options)
    : device_(std::move(device)) {
  const partition::Plan& plan = options.plan;
  require_ranks(plan.stages(), plan.replicas(), world.size(), options.config.pipeline.plan);
  grid_ = std::make_unique<RankGrid>(world, plan);
  const partition::StageReplica& here = grid_->here();
  require_equal_replicas(device_, here.stage, world);
  require_memory(device_, plan.bytes_of(here.stage).total(), world, options.advice);
  progress_ = [this] {
    if (stage_ != nullptr) stage_->progress();
  };
  stream_ = backend().make_stream([this] { progress_(); });
  StageOptions part = part_of(options, here);
  part.links = device_.links;
  stage_ = std::make_unique<Stage>(backend(), *stream_, grid_->pipeline(), options.sequence, part);
}

std::int64_t model_blocks(const partition::LayerSequence& sequence) {
  return partition::norm_blocks(partition::plan_without_frames(sequence, {}));
}

std::int64_t parameter_count(const partition::LayerSequence& sequence) {
  std::int64_t count = 0;
  for (const layers::LayerPlan& layer : partition::plan_without_frames(sequence, {}))
    for (const layers::ParamDecl& p : layer.params)
      if (!p.tied()) count += layers::element_count(p.shape);
  return count;
}

}  // namespace penstock::runtime
