#include <gtest/gtest.h>

#include <numeric>

#include "comm/threads.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {
namespace {

/// Lets frames pass and counts how often it was planned.
class Counted final : public layers::Layer {
 public:
  explicit Counted(int& plans) : plans_(plans) {}
  const std::string& name() const override { return name_; }
  layers::LayerPlan plan(const layers::ActivationDecl& input,
                         const layers::BackendSizes&) const override {
    ++plans_;
    layers::LayerPlan plan;
    plan.output = input;
    return plan;
  }
  void forward(layers::Context&, const layers::Params&, const layers::Activation&,
               layers::Activation&, layers::Saved) const override {}
  void backward_input(layers::Context&, const layers::Params&, const layers::Activation&,
                      layers::Saved, layers::Activation&) const override {}

 private:
  std::string name_ = "counted";
  int& plans_;
};

StageOptions whole(const partition::LayerSequence& sequence) {
  StageOptions options;
  options.cut = {0, sequence.size()};
  return options;
}

TEST(StageEvaluation, LaysOutFewMicroBatchesAtOnce) {
  int plans = 0;
  partition::LayerSequence sequence;
  sequence.features = 5;
  sequence.layers.push_back(std::make_unique<Counted>(plans));
  layers::CpuBackend backend(1);
  const auto stream = backend.make_stream({});
  const auto alone = comm::make_thread_communicators({.ranks = 1});
  Stage stage(backend, *stream, *alone.front(), sequence, whole(sequence));
  const StepWork work = synthetic_work({.micro_batches = 201, .utterances = 1, .seconds = 0.2});

  plans = 0;
  int planned_before_the_first = 0;
  std::vector<int> places;
  ExecutorCallbacks callbacks;
  callbacks.read_features = [&](int, std::span<float> x_FC, std::span<float>) {
    if (planned_before_the_first == 0) planned_before_the_first = plans;
    std::fill(x_FC.begin(), x_FC.end(), 0.0f);
  };
  callbacks.logits = [&](const MicroBatchWork& m, const layers::Frames&) {
    places.push_back(m.place);
  };
  const StepSums sums = stage.evaluate(work, callbacks);

  EXPECT_LE(planned_before_the_first, 64);
  EXPECT_EQ(sums.losses.size(), 201u);
  std::vector<int> in_order(201);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(places, in_order);
}

configs::ModelConfig tiny_model() {
  return {.features = 17,
          .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 8, .layers = 1}};
}

/// The logits of ragged micro-batches that a cut of the model into stages hands out, in order.
std::vector<std::vector<float>> logits_of_cut(const std::vector<int>& first_layers,
                                              const std::string& schedule = "1f1b") {
  const partition::LayerSequence sequence = partition::build_model(tiny_model(), 29);
  const StepWork work = synthetic_work({.micro_batches = 5, .utterances = 3, .seconds = 0.7});
  const int stages = static_cast<int>(first_layers.size()) / (schedule == "1f1b" ? 1 : 2);
  std::vector<std::vector<float>> found;
  comm::run_as_threads({.ranks = stages}, [&](comm::Communicator& pipeline) {
    layers::CpuBackend backend(1);
    const auto stream = backend.make_stream({});
    StageOptions options = whole(sequence);
    options.stage = pipeline.rank();
    options.schedule = partition::RunSchedule(schedule, stages);
    options.cut = first_layers;
    options.cut.push_back(sequence.size());
    Stage stage(backend, *stream, pipeline, sequence, options);
    ExecutorCallbacks callbacks;
    callbacks.read_features = synthetic_features(3);
    callbacks.logits = [&](const MicroBatchWork&, const layers::Frames& logits) {
      const float* first = logits.x_FC.as<float>();
      found.emplace_back(first, first + logits.x_FC.size());
    };
    stage.evaluate(work, callbacks);
  });
  return found;
}

TEST(StageEvaluation, LogitsAreTheSameForAnyCut) {
  const int layers = partition::build_model(tiny_model(), 29).size();
  const auto expected = logits_of_cut({0});
  ASSERT_EQ(expected.size(), 5u);
  EXPECT_EQ(logits_of_cut({0, layers - 2}), expected);
  EXPECT_EQ(logits_of_cut({0, layers - 1}), expected) << "the last stage is the loss alone";
}

TEST(StageEvaluation, LogitsAreTheSameWithSeveralChunks) {
  const auto expected = logits_of_cut({0});
  for (const std::string schedule : {"zb-v", "interleaved"}) {
    EXPECT_EQ(logits_of_cut({0, 3}, schedule), expected) << schedule << ", all on one rank";
    EXPECT_EQ(logits_of_cut({0, 2, 3, 6}, schedule), expected) << schedule;
    EXPECT_EQ(logits_of_cut({0, 1, 2, 3, 4, 5}, schedule), expected) << schedule;
  }
}

/// Counts what is asked of the device.
class CountingBackend final : public layers::CpuBackend {
 public:
  using layers::CpuBackend::CpuBackend;
  layers::Buffer allocate(std::size_t bytes) override {
    allocated += bytes;
    return layers::CpuBackend::allocate(bytes);
  }
  std::size_t allocated = 0;
};

// The lattice of an utterance grows with the square of its frames.
TEST(StageEvaluation, TranscribingAllocatesNothingForTheLoss) {
  const partition::LayerSequence sequence = partition::build_model(tiny_model(), 29);
  const auto allocated = [&](bool labels) {
    StepWork work = synthetic_work({.utterances = 1, .seconds = 60});
    if (!labels) work.micro_batches.front().labels.clear();
    if (!labels) work.micro_batches.front().label_lengths.clear();
    CountingBackend backend(1);
    const auto stream = backend.make_stream({});
    const auto alone = comm::make_thread_communicators({.ranks = 1});
    Stage stage(backend, *stream, *alone.front(), sequence, whole(sequence));
    ExecutorCallbacks callbacks;
    callbacks.read_features = synthetic_features(0);
    stage.evaluate(work, callbacks);
    return backend.allocated;
  };
  const auto lattice =
      sequence.layers.back()
          ->plan({layers::DType::f32, {{{1500}, 29}}}, {})  // 30 s, halved by conv1
          .workspace.forward;
  ASSERT_GT(lattice, std::size_t{2} << 20);
  EXPECT_LE(allocated(false), allocated(true) - lattice / 2);
}

}  // namespace
}  // namespace penstock::runtime
