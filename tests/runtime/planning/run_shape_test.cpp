#include "runtime/planning/run_shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "layers/models/deepspeech2.h"
#include "layers/models/qwen3_asr.h"
#include "layers/models/whisper.h"
#include "partition/layout/build_model.h"
#include "partition/layout/layer_figures.h"
#include "partition/planner/cost/fitted_costs.h"
#include "partition/planner/plan/planner.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/data/batch/batching.h"
#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {
namespace {

configs::Config recipe() {
  configs::Config config;
  config.model = {.features = 41,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 12, .layers = 2}};
  config.data.speeds = {0.9, 1, 1.1};
  config.data.micro_batch_seconds = 20;
  config.data.micro_batches = 5;
  config.pipeline.stages = 2;
  config.pipeline.replicas = 2;
  config.trainer.lanes = 3;
  config.trainer.steps = 60;
  return config;
}

std::vector<AudioLength> lengths(std::uint64_t count, std::uint64_t seed) {
  std::vector<AudioLength> lengths;
  for (std::uint64_t i = 0; i < count; ++i)
    lengths.push_back(
        {2000 + static_cast<std::int64_t>(sample_hash(SampleKind::order, seed, {i}) % 120000),
         16000});
  return lengths;
}

StepSequence sequence(const configs::Config& config, std::uint64_t utterances) {
  return StepSequence(
      {lengths(utterances, 3), config.data, config.features, 11, config.trainer.lanes});
}

std::int64_t frames(const std::vector<std::int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

void expect_room(const partition::ChunkBuffers& a, const partition::ChunkBuffers& b) {
  EXPECT_LE(a.slots, b.slots);
  EXPECT_LE(a.scratch, b.scratch);
  EXPECT_LE(a.inputs, b.inputs);
  EXPECT_LE(a.output_gradients, b.output_gradients);
  EXPECT_LE(a.input_gradients, b.input_gradients);
}

TEST(ShapeOfRecognition, HasTheMicroBatchesThatAreRun) {
  const configs::Config config = recipe();
  const RunShape shape = shape_of_recognition(config, lengths(40, 3), 29);
  ASSERT_GT(shape.micro_batches.size(), 5u);
  std::size_t utterances = 0;
  for (const auto& micro_batch : shape.micro_batches) {
    EXPECT_LE(frames(micro_batch), 2000 + std::ssize(micro_batch)) << "20 s";
    utterances += micro_batch.size();
  }
  EXPECT_EQ(utterances, 40u);
}

TEST(UsualLengths, HaveTextsAsLongAsTheCorpus) {
  const configs::Config config = recipe();
  StepSequenceOptions options{lengths(40, 3), config.data, config.features, 11, 3};
  options.most_labels = 17;
  options.labels_per_second = 12.5;  // an eighth of the frames
  const RunShape shape = shape_of_run(config, StepSequence(options), {}, 29);
  EXPECT_NEAR(shape.labels_per_frame, 0.125, 2e-3);
  EXPECT_EQ(usual_lengths(shape, {80, 41, 1000}),
            (partition::MicroBatchLengths{{80, 41, 1000}, {10, 5, 17}}));
  EXPECT_EQ(middling_lengths(shape), usual_lengths(shape, shape.micro_batches[4]));
  const RunShape unknown = shape_of_recognition(config, lengths(40, 3), 29);
  EXPECT_EQ(usual_lengths(unknown, {80, 41}), (partition::MicroBatchLengths{{80, 41}}));
}

TEST(CoveringLengths, HoldWhatTheExtentHoldsAndLittleMore) {
  const partition::LayerSequence sequence = partition::build_model(recipe().model, 29);
  const MicroBatchExtent cases[] = {
      {1, 7, 7, 3}, {1, 8, 8, 0}, {2, 16, 15, 9}, {5, 100, 40, 1}, {64, 1999, 90, 25}};
  for (const MicroBatchExtent& extent : cases) {
    const auto [covering, labels] = worst_case_lengths(extent, sequence);
    EXPECT_EQ(labels, std::vector<std::int64_t>(covering.size(), extent.labels));
    EXPECT_EQ(std::ssize(covering), extent.utterances);
    EXPECT_GE(frames(covering), extent.frames);
    EXPECT_LE(frames(covering), extent.frames + 3);
    const std::int64_t longest = std::ranges::max(covering);
    EXPECT_TRUE(longest == extent.longest || longest == extent.longest + 1) << longest;
    // Any such utterances leave at most half of this many frames after a stride of 2.
    EXPECT_GE(2 * frames(partition::output_frames(sequence, covering)),
              extent.frames + extent.utterances);
  }
}

// Two input frames are one after the convolutions, and no longer utterance has positions.
TEST(CoveringLengths, EndWhereTheModelsPositionsEnd) {
  for (const int most : {1500, 100, 3}) {
    const partition::LayerSequence sequence = partition::build_model(
        {.features = 8,
         .family =
             layers::WhisperOptions{
                 .width = 4, .heads = 2, .layers = 1, .inner = 5, .max_frames = most}},
        29);
    for (const std::int64_t longest : {2 * most - 1, 2 * most}) {
      const auto covering = worst_case_lengths({3, 3 * longest, longest, 1}, sequence).frames;
      EXPECT_GE(std::ranges::min(covering), 2 * most - 1);
      EXPECT_EQ(std::ranges::max(partition::output_frames(sequence, covering)), most);
    }
    EXPECT_EQ(partition::layer_kinds(sequence, {}).size(), sequence.layers.size());
    EXPECT_EQ(partition::cost_terms(sequence, {}).size(), sequence.layers.size());
  }
}

// With chunks of 20 frames, no lengths of as many frames leave more than those of 1, 21, 41, …
TEST(CoveringLengths, AreOneFrameMoreThanFullChunks) {
  const partition::LayerSequence sequence =
      partition::build_model({.features = 8,
                              .family = layers::Qwen3AsrOptions{.channels = 2,
                                                                .chunk = 20,
                                                                .window = 40,
                                                                .width = 4,
                                                                .heads = 2,
                                                                .layers = 1,
                                                                .inner = 5}},
                             29);
  const auto left = [&](const std::vector<std::int64_t>& lengths) {
    return frames(partition::output_frames(sequence, lengths));
  };
  EXPECT_EQ(worst_case_lengths({2, 60, 30, 1}, sequence).frames,
            (std::vector<std::int64_t>{21, 41}));
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<std::int64_t> lengths;
    for (std::uint64_t i = 0; i < 1 + seed % 7; ++i)
      lengths.push_back(1 +
                        static_cast<std::int64_t>(sample_hash(SampleKind::order, seed, {i}) % 90));
    const MicroBatchExtent extent{std::ssize(lengths), frames(lengths), std::ranges::max(lengths),
                                  1};
    EXPECT_GE(left(worst_case_lengths(extent, sequence).frames), left(lengths)) << seed;
  }
}

/// Calls `check` with first and last layer and chunk of stages that cuts can make.
void for_stages(const partition::LayerSequence& sequence,
                const std::function<void(int, int, int)>& check) {
  for (const int last : {1, 4, 7, 8, 10, sequence.size()})
    for (const int first : {0, 1, 3, 6, 7, 9})
      for (const int chunk : {0, 1})
        if (first < last) check(first, last, chunk);
}

class BytesOfRun : public testing::Test {
 protected:
  /// Returns the bytes that `batches` alone need, with as many in flight at once as `schedule`
  /// says.
  partition::ChunkBytes needed(const std::vector<MicroBatch>& batches,
                               const partition::Schedule& schedule) const {
    partition::ChunkLoad load{{}, schedule};
    for (const MicroBatch& batch : batches) {
      auto& real = load.micro_batches.emplace_back();
      for (const BatchUtterance& u : batch.utterances) real.frames.push_back(u.frames);
    }
    return partition::ChunkBytes(sequence_, {load}, {}, {});
  }

  configs::Config config_ = recipe();
  partition::LayerSequence sequence_ = partition::build_model(config_.model, 29);
};

TEST_F(BytesOfRun, CoverEveryStepOfEveryEpoch) {
  config_.trainer.steps = 25;
  for (const std::uint64_t utterances : {9, 60})
    for (const char* name : {"1f1b", "gpipe"}) {
      config_.pipeline.schedule = name;
      const StepSequence steps = sequence(config_, utterances);
      const RunShape shape = shape_of_run(config_, steps, {}, 29);
      const partition::ChunkBytes planned = bytes_of_run(sequence_, config_, shape);
      const partition::Schedule schedule = partition::make_schedule(
          name, 2, partition::micro_batches_per_replica(shape.training.micro_batches, 3, 2));
      for (int step = 0; step < config_.trainer.steps; ++step) {
        const partition::ChunkBytes one = needed(steps.at(step).micro_batches, schedule);
        for_stages(sequence_, [&](int first, int last, int chunk) {
          expect_room(one.buffers(first, last, chunk), planned.buffers(first, last, chunk));
        });
      }
    }
}

TEST_F(BytesOfRun, CoverTheValidation) {
  config_.trainer.steps = 1;
  const StepSequence steps = sequence(config_, 1);
  const std::vector<AudioLength> validation = lengths(60, 7);
  const auto batches = evaluation_batches(validation, config_.data, config_.features);
  const auto replicas_share = static_cast<int>(batches.size() + 1) / 2;
  const partition::ChunkBytes one =
      needed(batches, partition::forward_only({0, 1}, replicas_share));
  const auto planned = [&] {
    return bytes_of_run(sequence_, config_, shape_of_run(config_, steps, {validation}, 29));
  };
  const partition::ChunkBytes with = planned();
  for_stages(sequence_, [&](int first, int last, int chunk) {
    expect_room(one.buffers(first, last, chunk), with.buffers(first, last, chunk));
  });
  const auto scratch = [&](const partition::ChunkBytes& bytes) {
    return bytes.buffers(0, sequence_.size(), 0).scratch;
  };
  config_.trainer.validate_every = -1;
  EXPECT_LT(scratch(planned()), scratch(one));
}

TEST_F(BytesOfRun, HaveNoOptimizerWhereNothingIsTrained) {
  const RunShape shape = shape_of_recognition(config_, lengths(9, 3), 29);
  const auto optimizer = [&](const std::string& kind) {
    config_.optimizer.kind = kind;
    return bytes_of_run(sequence_, config_, shape)(0, sequence_.size(), 0).optimizer;
  };
  EXPECT_EQ(optimizer("adamw"), optimizer("sgd"));  // which keep two numbers and one
}

TEST_F(BytesOfRun, CountWhatReplicasAdd) {
  const StepSequence steps = sequence(config_, 9);
  const RunShape shape = shape_of_run(config_, steps, {}, 29);
  const auto whole = [&] {
    return bytes_of_run(sequence_, config_, shape)(0, sequence_.size(), 0);
  };
  // The first replica has 2 of 3 lanes, and gets the third's share of what it adds: half.
  const partition::StageBytes two = whole();
  EXPECT_EQ(two.gradients, 2 * two.weights);
  EXPECT_GE(two.reduction, two.weights / 2);
  EXPECT_LE(two.reduction, two.weights / 2 + 64);
  config_.pipeline.replicas = 1;
  EXPECT_EQ(whole().gradients, 3 * two.weights);
  EXPECT_EQ(whole().reduction, 0u);
}

}  // namespace
}  // namespace penstock::runtime
