#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/pipeline/stage.h"
#include "tests/support/layers/watched_backend.h"
#include "tests/support/system/resident_memory.h"

namespace penstock::runtime {
namespace {

configs::ModelConfig model(int hidden, int layers, int channels) {
  return {.features = 41,
          .family = layers::DeepSpeech2Options{
              .channels = channels, .hidden = hidden, .layers = layers, .dropout = 0.1}};
}

/// A stage of a layer sequence that is cut evenly.
struct Cut {
  const partition::LayerSequence& sequence;
  std::string schedule;
  int stages = 1, stage = 0;
  partition::ChosenLayers recomputes = {};
  int resident = 0;

  partition::Schedule lists(int micro_batches) const {
    return partition::with_offload(partition::make_schedule(schedule, stages, micro_batches),
                                   resident);
  }

  std::vector<partition::ChunkRange> held() const {
    const std::vector<int> ranks = partition::chunk_ranks(schedule, stages);
    std::vector<partition::ChunkRange> held;
    for (int chunk = 0; chunk < std::ssize(ranks); ++chunk)
      if (ranks[chunk] == stage)
        held.push_back({begin_of(chunk, ranks.size()), begin_of(chunk + 1, ranks.size()), chunk});
    return held;
  }

  partition::ChunkBytes bytes(const StepWork& work) const {
    partition::ChunkLoad load{{}, lists(std::ssize(work.micro_batches)), recomputes};
    for (const MicroBatchWork& m : work.micro_batches) load.micro_batches.push_back({m.lengths});
    return partition::ChunkBytes(sequence, {load}, {}, {});
  }
  partition::StageBytes planned(const StepWork& work) const { return bytes(work)(held()); }
  std::vector<partition::ChunkBuffers> buffers(const StepWork& work) const {
    std::vector<partition::ChunkBuffers> buffers;
    for (const auto& [first, last, chunk] : held())
      buffers.push_back(bytes(work).buffers(first, last, chunk));
    return buffers;
  }

  StageOptions options() const {
    StageOptions options;
    options.stage = stage;
    options.schedule = partition::RunSchedule(schedule, stages).resident(resident);
    options.recompute = recomputes;
    const std::size_t chunks = partition::chunk_ranks(schedule, stages).size();
    for (std::size_t chunk = 0; chunk <= chunks; ++chunk)
      options.cut.push_back(begin_of(chunk, chunks));
    return options;
  }

 private:
  int begin_of(std::size_t chunk, std::size_t chunks) const {
    return static_cast<int>(sequence.layers.size() * chunk / chunks);
  }
};

std::size_t padded(const layers::Shape& shape, layers::DType dtype = layers::DType::f32) {
  return layers::aligned(static_cast<std::size_t>(layers::element_count(shape)) *
                         layers::size_of(dtype));
}

/// Bytes that live from forward to the end of backward, and those of backward alone.
struct Asked {
  std::size_t passed = 0, recomputed = 0;
};

/// Returns the bytes that the layers of a chunk ask to keep for one micro-batch, counted from their
/// declarations alone. The chunk's input is a message buffer, as is the gradient of its output; its
/// output stays until it is sent. Chosen neighbours keep only what enters the first of them; what
/// else they ask for is made in backward, and they take turns for it unless weight gradients come
/// later.
Asked asked_to_keep(const Cut& cut, const partition::ChunkRange& chunk,
                    const MicroBatchWork& work) {
  using Kind = layers::SavedDecl::Kind;
  const auto plans = partition::plan_layers(cut.sequence, work.lengths, {});
  const bool split = partition::splits_backward(cut.lists(1));
  const auto chosen = [&](int i) {
    return chunk.first <= i && i < chunk.last && !cut.recomputes.empty() && cut.recomputes[i];
  };
  const auto keeps = [&](int i, Kind kind) {
    return std::ranges::count(plans[i].saved, kind, &layers::SavedDecl::kind) > 0;
  };
  std::size_t kept = 0, carried = 0, made = 0, max_made = 0;
  bool any = false;
  for (int i = chunk.first; i < chunk.last; ++i) {
    if (!chosen(i)) made = 0;
    any |= chosen(i);
    std::size_t own = 0;
    for (const layers::SavedDecl& s : plans[i].saved) {
      if (s.kind != Kind::own) continue;
      const bool lasts = s.life == layers::Life::carried;
      own += lasts ? 0 : padded(s.shape, s.dtype);
      carried += lasts ? padded(s.shape, s.dtype) : 0;
    }
    bool keeps_output = false, makes_output = false;
    if (i + 1 < chunk.last) {
      const bool read_as_input = keeps(i + 1, Kind::input), read_as_output = keeps(i, Kind::output);
      const bool first_of_chosen = chosen(i + 1) && !chosen(i);
      const bool read = read_as_input || read_as_output;
      keeps_output = first_of_chosen || (read_as_input && !chosen(i + 1)) || (read && !chosen(i));
      makes_output = read && !keeps_output;
    }
    made += chosen(i) ? own : 0;
    kept += chosen(i) ? 0 : own;
    if (keeps_output) kept += plans[i].output.bytes();
    if (makes_output) made += plans[i].output.bytes();
    max_made = split && chosen(i) ? 0 : std::max(max_made, made);
    if (split && chosen(i)) carried += made, made = 0;
  }
  if (!split) carried = 0;
  std::set<int> gradients;  // of the output of these layers, for later weight gradients
  for (int i = chunk.first; split && i < chunk.last; ++i) {
    if (keeps(i, Kind::input_gradient) && i > 0) gradients.insert(i - 1);
    if (keeps(i, Kind::output_gradient) && i + 1 < chunk.last) gradients.insert(i);
  }
  for (const int i : gradients) carried += plans[i].output.bytes();
  const std::size_t weights =
      layers::aligned(work.lengths.size() * sizeof(float));  // of the utterances
  kept += plans[chunk.last - 1].output.bytes() + weights;
  return any ? Asked{kept, carried + max_made} : Asked{kept + carried, 0};
}

struct MostInFlight {
  int passed = 0;  // micro-batches from the start of their forward to the end of their last pass
  int recomputed = 0;  // from the start of their first backward pass to there, or in their forward
  int on_host = 0;     // from their offload to the end of their first backward pass
};

MostInFlight max_in_flight(const Cut& cut, const partition::ChunkRange& chunk, int micro_batches) {
  const partition::Schedule schedule = cut.lists(micro_batches);
  MostInFlight now, max;
  std::set<int> away;
  for (const partition::Action& a : schedule.ranks[cut.stage]) {
    if (a.chunk != chunk.chunk) continue;
    if (a.kind == partition::ActionKind::forward || a.kind == partition::ActionKind::reload)
      ++now.passed;
    if (a.kind == partition::ActionKind::offload) away.insert(a.micro_batch);
    max.on_host = std::max(max.on_host, static_cast<int>(away.size()));
    if (a.kind == partition::ActionKind::backward ||
        a.kind == partition::ActionKind::backward_input) {
      ++now.recomputed;
      away.erase(a.micro_batch);
    }
    const int within = a.kind == partition::ActionKind::forward ? 1 : 0;
    max.passed = std::max(max.passed, now.passed);
    max.recomputed = std::max(max.recomputed, now.recomputed + within);
    if (a.kind == partition::ActionKind::backward ||
        a.kind == partition::ActionKind::backward_weight)
      --now.passed, --now.recomputed;
    if (a.kind == partition::ActionKind::offload) --now.passed;
  }
  return max;
}

class PlannedStage : public testing::TestWithParam<std::string_view> {
 protected:
  void check(const Cut& cut) const {
    const std::string what = fmt::format("stage {} of {}", cut.stage, cut.stages);
    const partition::StageBytes planned = cut.planned(work_);

    const auto plans = partition::plan_layers(sequence_, work_.micro_batches[0].lengths, {});
    std::size_t weights = 0, saved = 0, on_host = 0;
    std::vector<layers::LayerPlan> own;
    for (const partition::ChunkRange& chunk : cut.held()) {
      for (int i = chunk.first; i < chunk.last; ++i) {
        for (const layers::ParamDecl& p : plans[i].params) weights += padded(p.shape);
        own.push_back(plans[i]);
      }
      const auto [passed, recomputed, away] = max_in_flight(cut, chunk, kMicroBatches);
      const Asked asked = asked_to_keep(cut, chunk, work_.micro_batches[0]);
      saved += passed * asked.passed + recomputed * asked.recomputed;
      on_host += away * asked.passed;
    }
    EXPECT_EQ(planned.weights, weights) << what;
    const std::size_t agreement = partition::gradient_norm_bytes(partition::norm_blocks(plans));
    EXPECT_EQ(
        planned.optimizer,
        2 * weights + partition::table_bytes(partition::lay_out_parameters(own, {}, 0)) + agreement)
        << what;
    EXPECT_EQ(planned.saved, saved) << what;
    EXPECT_EQ(planned.host, on_host) << what;

    test::WatchedBackend backend;
    const auto stream = backend.make_stream({});
    const auto ranks = comm::make_thread_communicators({.ranks = cut.stages});
    Stage stage(backend, *stream, *ranks[cut.stage], sequence_, cut.options());
    const std::size_t before = backend.allocated_host;
    stage.reserve(cut.buffers(work_));
    EXPECT_EQ(backend.allocated_host - before, planned.host) << what;
    EXPECT_EQ(backend.allocated + agreement, planned.total()) << what;  // a TrainingStep has that
  }

  static constexpr int kMicroBatches = 5;
  const partition::LayerSequence sequence_ = partition::build_model(model(13, 2, 3), 29);
  const StepWork work_ =
      synthetic_work({.micro_batches = kMicroBatches, .utterances = 3, .seconds = 1.3});
};

TEST_P(PlannedStage, EqualsRequestedAndAllocatedMemory) {
  for (int stages : {1, 2, 3})
    for (int at = 0; at < stages; ++at) check({sequence_, std::string(GetParam()), stages, at});
}

TEST_P(PlannedStage, HoldsUnderFullRecomputation) {
  for (int stages : {1, 2, 3})
    for (int at = 0; at < stages; ++at)
      check({sequence_, std::string(GetParam()), stages, at,
             partition::ChosenLayers(sequence_.size(), true)});
}

// The first and the last layer, single ones, neighbours, and what a cut parts.
TEST_P(PlannedStage, HoldsUnderRecomputationOfSomeLayers) {
  std::mt19937 random(3);
  for (int round = 0; round < 12; ++round) {
    partition::ChosenLayers chosen(sequence_.size());
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = random() % 5 < 2;
    if (round < 2) chosen.front() = chosen.back() = true;
    for (int stages : {1, 2, 3})
      for (int at = 0; at < stages; ++at)
        check({sequence_, std::string(GetParam()), stages, at, chosen});
  }
}

TEST_P(PlannedStage, HoldsUnderOffload) {
  for (int resident : {1, 2, 4})
    for (int stages : {1, 2, 3})
      for (int at = 0; at < stages; ++at) {
        check({sequence_, std::string(GetParam()), stages, at, {}, resident});
        const partition::ChosenLayers all(sequence_.size(), true);
        check({sequence_, std::string(GetParam()), stages, at, all, resident});
      }
}

INSTANTIATE_TEST_SUITE_P(Of, PlannedStage, testing::ValuesIn(partition::schedule_names()),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

// The baseline is what libraries keep for themselves once such a step has been computed.
TEST(StageMemory, PeakIsWithinFivePercentOfThePlan) {
  if (test::sanitised()) GTEST_SKIP() << "the sanitiser keeps memory of its own";
  const auto train = [](const configs::ModelConfig& config, const StepWork& work, auto before) {
    const partition::LayerSequence sequence = partition::build_model(config, 29);
    const Cut whole{sequence, "1f1b"};
    test::WatchedBackend backend;
    const auto stream = backend.make_stream({});
    const auto alone = comm::make_thread_communicators({.ranks = 1});
    before();
    Stage stage(backend, *stream, *alone.front(), sequence, whole.options());
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
  const configs::ModelConfig config = model(512, 2, 16);
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
}  // namespace penstock::runtime
