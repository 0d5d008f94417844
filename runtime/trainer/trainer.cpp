#include "runtime/trainer/trainer.h"

#include "runtime/trainer/training_run.h"

namespace penstock {

TrainingSummary train(const TrainingTask& task, Communicator& world,
                      const TrainingObserver& observer) {
  TrainingRun run(task, world, observer);
  run.resume();
  while (!run.finished()) {
    run.step();
    if (run.validation_due()) run.validate();
    if (run.checkpoint_due()) run.save();
  }
  return run.finish();
}

}  // namespace penstock
