#include "runtime/trainer/trainer.h"

#include "base/error.h"
#include "runtime/trainer/training_run.h"

namespace penstock::runtime {

// A training has three phases: prepare_training() makes all ranks agree on recipe, checkpoint and
// data, plan_training() on the steps and the plan, and TrainingRun runs the steps. All ranks run
// the loop together and get the same answer to every question that it asks (training_run.cpp says
// why).
//
// The order within an iteration matters. A step ends with the notices of all ranks. advance_save()
// hears them first: a stop request, and the progress of the save under way. A validation comes
// before a checkpoint of the same step, since it may save that step as the best one.
// checkpoint_due() then finds that it is saved.
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
