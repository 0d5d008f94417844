#pragma once

#include <functional>
#include <memory>

#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/run_shape.h"
#include "runtime/trainer/training_step.h"

namespace penstock::runtime {

/// Arguments of make_training_step(). They need not outlive the call.
struct TrainingStepSpec {
  const configs::Config& config;
  const partition::LayerSequence& sequence;
  const partition::Plan& plan;
  const RunShape& shape;  // buffers are reserved for it
  BatchScaling scaling = {};
  /// Options of TrainingStep with the same names.
  std::function<std::int64_t()> failed = {};
  std::function<Notices()> notices = {};
  int trusted_after = TrainingStep::Options{}.trusted_after;
};

/// Returns the order in which devices with such links add gradients. It is NCCL's if the recipe
/// asks for it and the replicas communicate over NCCL, or there is only one. Otherwise it is the
/// tree of lanes.
[[nodiscard]] ReductionOrder reduction_order(const configs::Config& config,
                                             const partition::Plan& plan, DeviceLinks links);

/// Returns the options of a training session, whose stages allocate the optimizer's slots.
[[nodiscard]] SessionOptions training_session_options(const configs::Config& config,
                                                      const partition::LayerSequence& sequence,
                                                      const partition::Plan& plan,
                                                      const MemoryAdvice& advice = {});

/// Creates the training step of a session that has training_session_options(). Reserves the stage's
/// buffers for the shape, so that no step and no validation allocates. Sets the session's progress
/// function, so that long computations move the step's messages. All ranks call it. The session
/// must outlive the step, and must not compute after the step is destroyed.
[[nodiscard]] std::unique_ptr<TrainingStep> make_training_step(Session& session,
                                                               const TrainingStepSpec& spec);

}  // namespace penstock::runtime
