#include "runtime/trainer/trainer.h"

#include "base/error.h"
#include "runtime/trainer/training_run.h"

namespace penstock::runtime {

TrainingSummary train(const TrainingTask& task, comm::Communicator& world,
                      const TrainingObserver& observer) {
  TrainingRun run(plan_training(prepare_training(task, world, observer)));
  return comm::guarded(world.shutdown(), [&run] {
    try {
      if (run.validation_missed()) run.validate();
      while (!run.finished()) {
        run.step();
        run.advance_save();
        if (run.validation_due()) run.validate();
        if (run.checkpoint_due()) run.save();
      }
      return run.finish();
    } catch (const DivergenceError&) {  // all ranks throw it; the current save is older
      run.await_save();
      throw;
    }
  });
}

}  // namespace penstock::runtime
