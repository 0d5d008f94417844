#include "tests/support/partition/corrupted_lists.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/config.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/run_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/pipeline/executor.h"
#include "runtime/pipeline/local_layers.h"

namespace penstock::runtime {
namespace {

constexpr int kMicroBatches = 3;

partition::LayerSequence small_model() {
  configs::Config config;
  config.model = {.features = 41,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 2}};
  return partition::build_trained_model(config, 29);
}

/// Holds what a step leaves on each rank.
struct Left {
  std::vector<std::vector<std::byte>> gradients;
  std::vector<std::vector<std::vector<double>>> losses;
  bool operator==(const Left&) const = default;
};

/// The executor on one rank, as a stage has it but without the stage's proof of its lists.
void run_rank(const partition::LayerSequence& sequence, const partition::Schedule& lists,
              const StepWork& work, comm::Communicator& world, Left& left) {
  const auto backend = layers::make_cpu_backend();
  const auto stream = backend->make_stream({});
  std::vector<int> cut{0};
  for (int chunk = 1; chunk <= lists.chunks(); ++chunk)
    cut.push_back(sequence.size() * chunk / lists.chunks());
  const LocalLayers local = local_layers(sequence, {}, cut, lists.chunk_rank, world.rank());
  ParameterStore parameters(*backend, *stream, local.plans, local.norm_blocks, {}, 1);
  BufferRing scratch;
  std::deque<Chunk> chunks;
  std::vector<Chunk*> pointers;
  for (std::size_t i = 0; i < local.chunks.size(); ++i) {
    const int first = cut[local.chunks[i]], last = cut[local.chunks[i] + 1];
    const partition::LayerRange all(sequence.layers);
    Chunk::Options part;
    part.before = all.first(first);
    part.layers = all.subspan(first, last - first);
    part.features = sequence.features;
    part.role = {.sends_input_gradient = first > 0,
                 .sends_output = last < sequence.size(),
                 .splits_backward = partition::splits_backward(lists)};
    part.first_layer = local.first_layers[i];
    part.first_sum = local.first_sums[i];
    part.row_of_sums = local.sums;
    pointers.push_back(&chunks.emplace_back(*backend, *stream, parameters, scratch, part));
  }
  ExecutorCallbacks callbacks;
  callbacks.read_features = synthetic_features(5);
  StepSums sums{std::vector<double>(kMicroBatches),
                std::vector<double>(kMicroBatches * local.sums)};
  sums.utterance_losses.resize(kMicroBatches);
  parameters.zero_gradients(*stream);
  Executor(world, pointers, local.chunks).run(lists, work, layers::Mode::train, callbacks, sums);
  for (const auto& transfer : sums.leaving) comm::wait(world, *transfer);
  backend->synchronize(*stream);
  const auto arena = parameters.gradient_arena(0);
  left.gradients[world.rank()].assign(arena.begin(), arena.end());
  left.losses[world.rank()] = sums.utterance_losses;
}

Left train_lists(const partition::Schedule& lists) {
  const partition::LayerSequence sequence = small_model();
  const StepWork work =
      synthetic_work({.micro_batches = kMicroBatches, .utterances = 2, .seconds = 0.7});
  const int ranks = static_cast<int>(lists.ranks.size());
  Left left{std::vector<std::vector<std::byte>>(ranks),
            std::vector<std::vector<std::vector<double>>>(ranks)};
  comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
    run_rank(sequence, lists, work, world, left);
  });
  return left;
}

/// A process of its own, which may hang or crash: whether lists leave what sound ones do.
pid_t compare_apart(const partition::Schedule& sound, const partition::Schedule& lists,
                    unsigned seconds) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    alarm(120);  // sound lists, on a busy machine
    const Left expected = train_lists(sound);
    alarm(seconds);
    _exit(train_lists(lists) == expected ? 0 : 1);
  } catch (...) {
    _exit(2);
  }
}

int exit_status(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

bool is_sound(const partition::Schedule& lists) try {
  partition::validate(lists);
  return true;
} catch (const ConfigError&) {
  return false;
}

// A stage proves its lists before it runs them. What passes trains as the sound lists do; what does
// not pass would hang, crash or train something else.
TEST(CorruptedLists, TrainNoOtherBitsOrAreRefused) {
  std::mt19937 random(3);
  const std::vector<partition::Schedule> schedules = {
      partition::make_schedule("1f1b", 3, kMicroBatches),
      partition::make_schedule("zb-v", 2, kMicroBatches),
      partition::make_schedule("zb-h1", 2, kMicroBatches)};
  std::vector<pid_t> sound, unsound;
  for (int round = 0; sound.size() < 6 || unsound.size() < 12; ++round) {
    ASSERT_LT(round, 1000);
    const partition::Schedule& schedule = schedules[round % schedules.size()];
    const partition::Schedule lists = test::corrupt(schedule, random);
    if (lists.ranks == schedule.ranks) continue;
    const bool passes = is_sound(lists);
    if (!passes) {
      EXPECT_THROW(partition::RunSchedule(lists, {}), ConfigError);
    }
    auto& children = passes ? sound : unsound;
    const std::size_t wanted = passes ? 6 : 12;
    if (children.size() < wanted)
      children.push_back(compare_apart(schedule, lists, passes ? 60 : 1));
  }
  for (const pid_t child : sound) EXPECT_EQ(exit_status(child), 0);
  int harmless = 0, hung = 0;
  for (const pid_t child : unsound) {
    const int status = exit_status(child);
    harmless += status == 0 ? 1 : 0;
    hung += WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? 1 : 0;
  }
  EXPECT_LE(harmless, 3);
  EXPECT_GE(hung, 3);
}

}  // namespace
}  // namespace penstock::runtime
