#include "runtime/trainer/make_training_step.h"

#include "partition/planner/plan/plan_schedule.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {
namespace {

TrainingStep::Options step_options(const TrainingStepSpec& spec, DeviceLinks links) {
  const configs::Config& config = spec.config;
  TrainingStep::Options options;
  options.optimizer = config.optimizer;
  options.schedule = config.lr_schedule;
  options.scaling = spec.scaling;
  options.precision = config.precision;
  options.seed = config.trainer.seed;
  options.bucket_bytes = bucket_bytes(config.pipeline);
  options.model_blocks = model_blocks(spec.sequence);
  options.lanes_of = spec.plan.lanes_of_replicas();
  options.failed = spec.failed;
  options.notices = spec.notices;
  options.links = links;
  options.reduction = reduction_order(config, spec.plan, links);
  options.post_validation = config.pipeline.post_validation;
  options.trusted_after = spec.trusted_after;
  options.ema = config.trainer.ema;
  return options;
}

// Reserves the buffers of this rank's chunks for the largest micro-batches that the run will meet,
// in training and validation. Chunks are numbered along the model, as Stage::reserve() expects.
void reserve_buffers(Session& session, const TrainingStepSpec& spec) {
  const partition::ChunkBytes bytes =
      bytes_of_run(spec.sequence, spec.config, spec.shape, partition::schedule_of(spec.plan));
  std::vector<partition::ChunkBuffers> own;
  for (int i = 0; i < static_cast<int>(spec.plan.chunks.size()); ++i) {
    const partition::ChunkPlan& chunk = spec.plan.chunks[i];
    if (chunk.stage == session.grid().here().stage)
      own.push_back(bytes.buffers(chunk.first, chunk.last(), i));
  }
  session.stage().reserve(own);
}

}  // namespace

ReductionOrder reduction_order(const configs::Config& config, const partition::Plan& plan,
                               DeviceLinks links) {
  const bool library = links == DeviceLinks::nccl || plan.replicas() == 1;
  return config.pipeline.reduction == "nccl" && library ? ReductionOrder::library
                                                        : ReductionOrder::lanes;
}

SessionOptions training_session_options(const configs::Config& config,
                                        const partition::LayerSequence& sequence,
                                        const partition::Plan& plan, const MemoryAdvice& advice) {
  return {config, sequence, plan, training_slots(config).counts(), advice};
}

// The session's progress has served the pipeline's messages alone. From here on it serves those of
// gradients and norms too, which the step owns.
std::unique_ptr<TrainingStep> make_training_step(Session& session, const TrainingStepSpec& spec) {
  auto step =
      std::make_unique<TrainingStep>(session.backend(), session.stream(), session.grid(),
                                     session.stage(), step_options(spec, session.device().links));
  session.on_progress([step = step.get()] { step->progress(); });
  reserve_buffers(session, spec);
  return step;
}

}  // namespace penstock::runtime
