#pragma once

#include <functional>
#include <memory>

#include "partition/model/layer_sequence.h"
#include "partition/plan/plan.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/run_shape.h"
#include "runtime/trainer/training_step.h"

namespace penstock::runtime {

/// What the steps of a session train by. It need not outlive the call that takes it.
struct TrainingStepSpec {
  const configs::Config& config;
  const partition::LayerSequence& sequence;
  const partition::Plan& plan;
  const RunShape& shape;  // buffers are reserved for
  /// TrainingStep::Options::failed, notices and trusted_after.
  std::function<std::int64_t()> failed = {};
  std::function<Notices()> notices = {};
  int trusted_after = TrainingStep::Options{}.trusted_after;
};

/// How gradients are added on devices with such links: in the library's order if the recipe asks
/// for it and replicas meet over NCCL, or there is only one; else in the tree of lanes.
[[nodiscard]] ReductionOrder reduction_order(const configs::Config& config,
                                             const partition::Plan& plan, DeviceLinks links);

/// Of a session that trains: with room for the optimizer's slots.
[[nodiscard]] SessionOptions training_session_options(const configs::Config& config,
                                                      const partition::LayerSequence& sequence,
                                                      const partition::Plan& plan,
                                                      const MemoryAdvice& advice = {});

/// The training step of a session made by training_session_options(), with the stage's buffers
/// reserved for the shape, so that no step and no validation allocates. From now on the session's
/// long computations move the step's messages. All ranks call it. The session must outlive the
/// step, and compute nothing behind the step's end.
[[nodiscard]] std::unique_ptr<TrainingStep> make_training_step(Session& session,
                                                               const TrainingStepSpec& spec);

}  // namespace penstock::runtime
