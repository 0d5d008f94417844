#include "runtime/trainer/trainer.h"

#include "runtime/trainer/training_run.h"

namespace penstock::runtime {

TrainingSummary train(const TrainingTask& task, comm::Communicator& world,
                      const TrainingObserver& observer) {
  TrainingRun run(plan_training(prepare_training(task, world, observer)));
  return comm::guarded(world.shutdown(), [&run] {
    while (!run.finished()) {
      run.step();
      if (run.validation_due()) run.validate();
      if (run.checkpoint_due()) run.save();
    }
    return run.finish();
  });
}

}  // namespace penstock::runtime
