#include <gtest/gtest.h>

#include <map>
#include <set>

#include "comm/threads.h"
#include "partition/build_chain.h"
#include "partition/chunk_bytes.h"
#include "partition/schedules/make_schedule.h"
#include "runtime/pipeline/stage.h"
#include "runtime/trainer/synthetic_work.h"
#include "tests/support/resident_memory.h"
#include "tests/support/watched_backend.h"

namespace penstock {
namespace {

ModelConfig model(int hidden, int layers, int channels) {
  ModelConfig model;
  model.features = 41;
  model.channels = channels;
  model.hidden = hidden;
  model.layers = layers;
  model.dropout = 0.1;
  return model;
}

struct Cut {
  const Chain& chain;
  std::string schedule;
  int stages = 1, stage = 0;

  std::size_t first() const { return chain.layers.size() * stage / stages; }
  std::size_t last() const { return chain.layers.size() * (stage + 1) / stages; }

  ChunkBytes bytes(const StepWork& work) const {
    ChunkLoad load{{}, make_schedule(schedule, stages, std::ssize(work.micro_batches))};
    for (const MicroBatchWork& m : work.micro_batches) load.micro_batches.push_back(m.lengths);
    return ChunkBytes(chain, {load}, {}, {});
  }
  StageBytes planned(const StepWork& work) const {
    return bytes(work)(static_cast<int>(first()), static_cast<int>(last()), stage);
  }
  ChunkBuffers buffers(const StepWork& work) const {
    return bytes(work).buffers(static_cast<int>(first()), static_cast<int>(last()), stage);
  }

  StageOptions options() const {
    StageOptions options;
    options.stage = stage;
    options.stages = stages;
    options.first_layer = first();
    options.last_layer = last();
    options.schedule = schedule;
    return options;
  }
};

std::size_t padded(const Shape& shape, DType dtype = DType::f32) {
  return aligned(static_cast<std::size_t>(element_count(shape)) * size_of(dtype));
}

/// What the layers of a stage ask to keep for one micro-batch, counted from their declarations
/// alone. The stage's input is a message buffer, as is the gradient of its output; its output
/// stays until it is sent.
std::size_t asked_to_keep(const Cut& cut, const MicroBatchWork& work) {
  using Kind = SavedDecl::Kind;
  const auto plans = plan_chain(cut.chain, work.lengths, {});
  const bool parted = cut.schedule.starts_with("zb");
  std::size_t bytes = 0;
  std::set<std::size_t> gradients;  // of the output of these layers, for later weight gradients
  for (std::size_t i = cut.first(); i < cut.last(); ++i) {
    bool output = i + 1 == cut.last();
    for (const SavedDecl& s : plans[i].saved) {
      if (s.kind == Kind::own && (parted || s.life != Life::carried))
        bytes += padded(s.shape, s.dtype);
      if (parted && s.kind == Kind::input_gradient && i > 0) gradients.insert(i - 1);
      if (parted && s.kind == Kind::output_gradient && i + 1 < cut.last()) gradients.insert(i);
      output |= s.kind == Kind::output;
    }
    if (i + 1 < cut.last())
      for (const SavedDecl& s : plans[i + 1].saved) output |= s.kind == Kind::input;
    if (output) bytes += plans[i].output.bytes();
  }
  for (const std::size_t i : gradients) bytes += plans[i].output.bytes();
  return bytes + aligned(work.lengths.size() * sizeof(float));  // and the utterances' weights
}

int most_in_flight(const Cut& cut, int micro_batches) {
  const std::map<std::string, int> most = {{"gpipe", micro_batches},
                                           {"1f1b", cut.stages - cut.stage},
                                           {"zb-h1", cut.stages},
                                           {"zb-h2", 2 * cut.stages - 1}};
  return std::min(micro_batches, most.at(cut.schedule));
}

TEST(StageMemory, WhatIsPlannedIsWhatLayersAskForAndWhatIsAllocated) {
  const Chain chain = build_chain(model(13, 2, 3), 29);
  const StepWork work = synthetic_work({.micro_batches = 3, .utterances = 3, .seconds = 1.3});
  for (const std::string schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2"})
    for (int stages : {1, 2, 3})
      for (int at = 0; at < stages; ++at) {
        const Cut cut{chain, schedule, stages, at};
        const StageBytes planned = cut.planned(work);

        const auto plans = plan_chain(chain, work.micro_batches[0].lengths, {});
        std::size_t weights = 0;
        for (std::size_t i = cut.first(); i < cut.last(); ++i)
          for (const ParamDecl& p : plans[i].params) weights += padded(p.shape);
        EXPECT_EQ(planned.weights, weights);
        const std::vector<LayerPlan> own(plans.begin() + cut.first(), plans.begin() + cut.last());
        const std::size_t agreement =
            agreement_numbers(norm_blocks(plans)) * sizeof(double) + sizeof(Verdict);
        EXPECT_EQ(planned.optimizer,
                  2 * weights + table_bytes(lay_out_parameters(own, {}, 0)) + agreement);
        EXPECT_EQ(planned.saved, most_in_flight(cut, 3) * asked_to_keep(cut, work.micro_batches[0]))
            << schedule << ", stage " << at << " of " << stages;

        test::WatchedBackend backend;
        const auto stream = backend.make_stream({});
        const auto ranks = make_thread_communicators({.ranks = stages});
        Stage stage(backend, *stream, *ranks[at], chain, cut.options());
        stage.reserve(cut.buffers(work));
        EXPECT_EQ(backend.allocated + agreement, planned.total())  // a TrainingStep has that
            << schedule << ", stage " << at << " of " << stages;
      }
}

// The baseline is what libraries keep for themselves once such a step has been computed.
TEST(StageMemory, ThePeakOfTheProcessIsWithinFivePercentOfThePlan) {
  if (test::address_sanitised()) GTEST_SKIP() << "AddressSanitizer keeps memory of its own";
  const auto train = [](const ModelConfig& config, const StepWork& work, auto before) {
    const Chain chain = build_chain(config, 29);
    const Cut whole{chain, "1f1b"};
    test::WatchedBackend backend;
    const auto stream = backend.make_stream({});
    const auto alone = make_thread_communicators({.ranks = 1});
    before();
    Stage stage(backend, *stream, *alone.front(), chain, whole.options());
    stage.reserve(whole.buffers(work));
    ExecutorCallbacks callbacks;
    callbacks.read_features = [](int, std::span<float> x_FC, std::span<float> weights) {
      for (std::size_t i = 0; i < x_FC.size(); ++i) x_FC[i] = static_cast<float>(i % 17) / 8 - 1;
      std::fill(weights.begin(), weights.end(), 1.0f);
    };
    stage.train(work, callbacks);
    return whole.planned(work).total();
  };
  const StepWork work = synthetic_work({.micro_batches = 1, .utterances = 16, .seconds = 6});
  const ModelConfig config = model(512, 2, 16);
  train(config, work, [] {});

  std::size_t baseline = 0;
  const std::size_t planned = train(config, work, [&] {
    test::restart_peak();
    baseline = test::resident();
  });
  ASSERT_GT(planned, std::size_t{200} << 20);
  const double used = static_cast<double>(test::peak_resident() - baseline);
  EXPECT_NEAR(used / static_cast<double>(planned), 1, 0.05)
      << "planned " << (planned >> 20) << " MiB, baseline " << (baseline >> 20) << " MiB";
}

}  // namespace
}  // namespace penstock
