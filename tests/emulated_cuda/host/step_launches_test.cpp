// These tests count what a training step asks of the device: where steps are short, the host's
// calls are the bound.

#include <gtest/gtest.h>

#include "layers/models/deepspeech2.h"
#include "tests/emulated_cuda/emulation/control.h"
#include "tests/support/runtime/training_job.h"

namespace emulated_cuda {
namespace {

using penstock::test::TrainingJob;

/// A step of a job, without what comes before the first.
Issued of_a_step(TrainingJob job) {
  const auto with_steps = [&job](int steps) {
    const Issued before = issued();
    job.steps = steps;
    train_on_noise(job);
    const Issued after = issued();
    return Issued{after.launches - before.launches, after.copies - before.copies,
                  after.fills - before.fills, after.waits - before.waits};
  };
  const Issued one = with_steps(1), two = with_steps(2);
  return {two.launches - one.launches, two.copies - one.copies, two.fills - one.fills,
          two.waits - one.waits};
}

/// ds2-large with fewer channels, as well aligned, so that as many kernels start, on one
/// micro-batch of eight utterances, of which the longest has so many frames after the
/// convolutions.
Issued of_deep_speech(std::int64_t frames) {
  TrainingJob job = penstock::test::small_job();
  job.device = penstock::layers::DeviceKind::cuda;
  job.model.family =
      penstock::layers::DeepSpeech2Options{.channels = 8, .rnn = "lstm", .hidden = 16, .layers = 5};
  job.precision = {.compute = "fp16", .loss_scaling = "static", .scale = 64};
  job.lengths = {{}};
  for (std::int64_t shorter = 0; shorter < 8; ++shorter)
    job.lengths[0].push_back(2 * frames - 3 * shorter);
  return of_a_step(job);
}

TEST(StepLaunches, OfRecurrencesAreOneATimeStep) {
  EXPECT_EQ(of_deep_speech(23).launches - of_deep_speech(14).launches, (23 - 14) * 5 * 2);
}

TEST(StepLaunches, TheHostWaitsOnce) { EXPECT_EQ(of_deep_speech(14).waits, 1); }

TEST(StepLaunches, AreAsFewAsThePageSays) {  // docs/design/kernels.md
  constexpr std::int64_t kFrames = 17, kFramesOfPage = 400;
  const Issued step = of_deep_speech(kFrames);
  EXPECT_LE(step.launches + (kFramesOfPage - kFrames) * 5 * 2, 4152);
  EXPECT_LE(step.copies, 58);
  EXPECT_LE(step.fills, 12);
}

}  // namespace
}  // namespace emulated_cuda
