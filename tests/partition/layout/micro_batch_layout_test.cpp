#include "partition/layout/micro_batch_layout.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace penstock::partition {
namespace {

using Kind = layers::SavedDecl::Kind;
using Region = Place::Region;

/// A layer that only declares: `channels` out, what it saves, and its workspace.
class Declared final : public layers::Layer {
 public:
  Declared(std::int64_t channels, std::vector<layers::SavedDecl> saved, std::size_t workspace = 0)
      : channels_(channels), saved_(std::move(saved)), workspace_(workspace) {}
  const std::string& name() const override { return name_; }
  layers::LayerPlan plan(const layers::ActivationDecl& input,
                         const layers::BackendSizes&) const override {
    layers::LayerPlan plan;
    plan.output = {layers::DType::f32, {{input.only().lengths, channels_}}};
    plan.saved = saved_;
    plan.workspace = {workspace_, workspace_ / 2, 0};
    plan.needs_targets = needs_targets;
    if (needs_targets) plan.output.frames.clear();  // a loss
    plan.cache_channels = cache_channels;
    plan.caches_memory = caches_memory;
    plan.passes_gradient = passes_gradient;
    return plan;
  }
  void forward(layers::Context&, const layers::Params&, const layers::Activation&,
               layers::Activation&, layers::Saved) const override {}
  void backward_input(layers::Context&, const layers::Params&, const layers::Activation&,
                      layers::Saved, layers::Activation&) const override {}

  bool needs_targets = false, passes_gradient = true, caches_memory = false;
  std::optional<std::int64_t> cache_channels;

 private:
  std::string name_ = "declared";
  std::int64_t channels_;
  std::vector<layers::SavedDecl> saved_;
  std::size_t workspace_;
};

std::vector<std::unique_ptr<layers::Layer>> sequence_of(std::vector<Declared> layers) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  for (Declared& layer : layers) sequence.push_back(std::make_unique<Declared>(std::move(layer)));
  return sequence;
}

const layers::ActivationDecl kInput{layers::DType::f32, {{{7, 1, 13}, 16}}};  // 21 frames

std::size_t activation_bytes(std::int64_t channels) { return layers::aligned(21 * channels * 4); }

TEST(MicroBatchLayout, OnlyWhatBackwardReadsStaysInTheSlot) {
  const auto sequence = sequence_of(
      {{32, {{Kind::input, layers::Life::to_backward_weight}}},
       {8, {{Kind::output, layers::Life::to_backward_input}}},
       {24, {}},
       {5, {{Kind::own, layers::Life::to_backward_weight, layers::DType::f64, {3, 3}}}}});
  const MicroBatchLayout layout = lay_out_training(sequence, kInput, {}, {true, true});
  EXPECT_EQ(layout.activation_places[0].region, Region::input);
  EXPECT_EQ(layout.activation_places[1].region, Region::scratch);
  EXPECT_EQ(layout.activation_places[2].region, Region::slot);
  EXPECT_EQ(layout.activation_places[3].region, Region::scratch);
  EXPECT_EQ(layout.activation_places[4].region, Region::slot);  // sent from there
  EXPECT_EQ(layout.slot_bytes, activation_bytes(8) + layers::aligned(21 * 5 * 4) +
                                   layout.weights_bytes + layers::aligned(9 * sizeof(double)));
}

TEST(MicroBatchLayout, WhatIsAliveTogetherDoesNotOverlap) {
  const auto sequence =
      sequence_of({{32, {{Kind::own, layers::Life::carried, layers::DType::f32, {21, 3}}}, 1000},
                   {64, {}, 500},
                   {16, {{Kind::own, layers::Life::carried, layers::DType::f32, {21, 9}}}, 3000}});
  const MicroBatchLayout layout = lay_out_training(sequence, kInput, {}, {true, false});
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const auto ends_before = [&](const Place& a, std::size_t bytes, const Place& b) {
      return a.region != b.region || a.offset + bytes <= b.offset;
    };
    const auto apart = [&](const Place& a, std::size_t a_bytes, const Place& b,
                           std::size_t b_bytes) {
      return ends_before(a, a_bytes, b) || ends_before(b, b_bytes, a);
    };
    const std::size_t in = layout.activations[i].bytes(), out = layout.activations[i + 1].bytes();
    EXPECT_TRUE(apart(layout.activation_places[i], in, layout.activation_places[i + 1], out));
    EXPECT_TRUE(apart(layout.gradient_places[i], in, layout.gradient_places[i + 1], out));
    for (const auto& [place, bytes] :
         {std::pair{layout.gradient_places[i], in}, {layout.gradient_places[i + 1], out}}) {
      for (std::size_t k = 0; k < layout.saved_places[i].size(); ++k)
        EXPECT_TRUE(apart(place, bytes, layout.saved_places[i][k],
                          21 * 4 * layout.layers[i].saved[k].shape[1]));
      EXPECT_TRUE(ends_before(place, bytes, layout.workspace));
    }
    EXPECT_LE(layout.workspace.offset + layout.layers[i].workspace.forward, layout.scratch_bytes);
  }
}

TEST(MicroBatchLayout, SplitBackwardKeepsItsOperandsInTheSlot) {
  const layers::SavedDecl carried{Kind::own, layers::Life::carried, layers::DType::f32, {21, 3}};
  const auto sequence =
      sequence_of({{32, {{Kind::input_gradient, layers::Life::carried}}},
                   {64, {}},
                   {16, {{Kind::output_gradient, layers::Life::carried}, carried}},
                   {8, {{Kind::output_gradient, layers::Life::carried}}}});
  const ChunkRole whole{true, true, false}, split{true, true, true};
  const MicroBatchLayout with = lay_out_training(sequence, kInput, {}, whole),
                         without = lay_out_training(sequence, kInput, {}, split);
  EXPECT_EQ(without.gradient_places[0].region, Region::slot);  // sent from there
  EXPECT_TRUE(without.sends_what_it_keeps());
  EXPECT_EQ(without.gradient_places[1].region, Region::scratch);
  EXPECT_EQ(without.gradient_places[2].region, Region::scratch);
  EXPECT_EQ(without.gradient_places[3].region, Region::slot);
  EXPECT_EQ(without.gradient_places[4].region, Region::output_gradient);
  EXPECT_EQ(without.saved_places[2][1].region, Region::slot);
  EXPECT_EQ(without.slot_bytes - with.slot_bytes,
            activation_bytes(16) + activation_bytes(16) + layers::aligned(21 * 3 * 4));
  EXPECT_LT(without.scratch_bytes, with.scratch_bytes);

  std::size_t end = 0;  // of what stands before, in the order of their claims
  for (const auto& [place, bytes] :
       {std::pair{without.activation_places[4], activation_bytes(8) + without.weights_bytes},
        {without.gradient_places[0], activation_bytes(16)},
        {without.gradient_places[3], activation_bytes(16)},
        {without.saved_places[2][1], layers::aligned(21 * 3 * 4)}}) {
    EXPECT_GE(place.offset, end);
    end = place.offset + bytes;
  }
  EXPECT_LE(end, without.slot_bytes);

  EXPECT_FALSE(lay_out_training(sequence, kInput, {}, {false, true, true}).sends_what_it_keeps());
}

TEST(MicroBatchLayout, RecomputedActivationsDoNotStay) {
  const layers::SavedDecl own{
      Kind::own, layers::Life::to_backward_weight, layers::DType::f32, {21, 3}};
  const auto sequence = sequence_of({{32, {{Kind::output, layers::Life::to_backward_input}, own}},
                                     {8, {{Kind::output_gradient, layers::Life::carried}}},
                                     {24, {}}});
  for (const bool split : {false, true}) {
    const ChunkRole keeps{true, true, split}, recomputes{true, true, split, {true, true, true}};
    const MicroBatchLayout kept = lay_out_training(sequence, kInput, {}, keeps),
                           again = lay_out_training(sequence, kInput, {}, recomputes);
    EXPECT_EQ(kept.recomputed_bytes, 0u);
    EXPECT_EQ(again.slot_bytes, layers::aligned(21 * 24 * 4 + again.weights_bytes));
    EXPECT_EQ(again.slot_bytes + again.recomputed_bytes, kept.slot_bytes);
    EXPECT_EQ(again.scratch_bytes, kept.scratch_bytes);
    EXPECT_EQ(again.activation_places[1].region, Region::recomputed);
    EXPECT_EQ(again.activation_places[3].region, Region::slot);
    EXPECT_EQ(again.saved_places[0][1].region, Region::recomputed);
    EXPECT_EQ(again.gradient_places[2].region, split ? Region::recomputed : Region::scratch);
  }
}

/// Layers that each keep their input, and `own` bytes.
std::vector<std::unique_ptr<layers::Layer>> keeping_sequence(
    const std::vector<std::int64_t>& channels) {
  std::vector<Declared> layers;
  for (const std::int64_t c : channels)
    layers.push_back({c,
                      {{Kind::input, layers::Life::to_backward_weight},
                       {Kind::own, layers::Life::to_backward_input, layers::DType::f32, {21, c}}}});
  return sequence_of(std::move(layers));
}

TEST(MicroBatchLayout, RunsOfChosenLayersShareOneBuffer) {
  const auto sequence = keeping_sequence({32, 8, 24, 40, 4, 5});
  const ChosenLayers chosen{true, true, false, true, true, false};
  for (const bool split : {false, true}) {
    const MicroBatchLayout layout =
        lay_out_training(sequence, kInput, {}, {true, true, split, chosen});
    EXPECT_EQ(layout.recomputed_runs, (std::vector<LayerRun>{{0, 2}, {3, 5}}));
    EXPECT_FALSE(layout.recomputes_output());
    for (const int kept : {2, 3, 5, 6})
      EXPECT_EQ(layout.activation_places[kept].region, Region::slot) << kept;
    for (const int made : {1, 4})
      EXPECT_EQ(layout.activation_places[made].region, Region::recomputed);
    EXPECT_EQ(layout.saved_places[2][1].region, Region::slot);
    const std::size_t first = activation_bytes(32) * 2 + activation_bytes(8);
    const std::size_t second = activation_bytes(40) * 2 + activation_bytes(4);
    EXPECT_EQ(layout.recomputed_bytes, split ? first + second : std::max(first, second));
    EXPECT_EQ(layout.slot_bytes, activation_bytes(8) + 2 * activation_bytes(24) +
                                     activation_bytes(4) + 2 * activation_bytes(5) +
                                     layout.weights_bytes);
  }
}

// Its gradient is in scratch when what a run of layers only passes on is recomputed.
TEST(MicroBatchLayout, RecomputationKeepsOffTheGradientThatWaits) {
  const layers::SavedDecl own{
      Kind::own, layers::Life::to_backward_weight, layers::DType::f32, {21, 3}};
  const auto sequence = sequence_of({{64, {own}}, {48, {own}}, {32, {own}}, {8, {own}}});
  const MicroBatchLayout layout =
      lay_out_training(sequence, kInput, {}, {true, true, false, {true, true, true, false}});
  ASSERT_EQ(layout.gradient_places[3].region, Region::scratch);
  for (const int again : {1, 2, 3}) {
    const Place& place = layout.activation_places[again];
    ASSERT_EQ(place.region, Region::scratch);
    for (const int gradient : {1, 2, 3})
      EXPECT_GE(place.offset,
                layout.gradient_places[gradient].offset + layout.activations[gradient].bytes());
  }
}

TEST(MicroBatchLayout, FirstStageMakesNoInputGradient) {
  const auto sequence = sequence_of({{4, {}}, {4, {}}});
  const std::size_t with = lay_out_training(sequence, kInput, {}, {true, false}).scratch_bytes;
  const std::size_t without = lay_out_training(sequence, kInput, {}, {false, false}).scratch_bytes;
  EXPECT_EQ(with, without);  // it would have its own message buffer
  EXPECT_EQ(lay_out_training(sequence, kInput, {}, {true, false}).gradient_places[0].region,
            Region::input_gradient);
}

TEST(MicroBatchLayout, LayersWithoutBackwardKeepNothing) {
  const layers::SavedDecl own{Kind::own, layers::Life::to_backward_input, layers::DType::f32, {99}};
  for (const bool frozen : {false, true}) {
    std::vector<Declared> layers = {{8, {own}}, {4, {own}}, {12, {own}}, {5, {own}}};
    for (int i : {0, 1}) layers[i].passes_gradient = !frozen;
    const auto sequence = sequence_of(std::move(layers));
    const MicroBatchLayout layout = lay_out_training(sequence, kInput, {}, {false, true});
    const std::size_t output = layers::aligned(21 * 5 * 4) + layout.weights_bytes;
    EXPECT_EQ(layout.slot_bytes, output + (frozen ? 2 : 4) * layers::aligned(99 * 4));
    EXPECT_EQ(layout.recomputed_bytes, frozen ? 2 * layers::aligned(99 * 4) : 0);
    EXPECT_FALSE(layout.recomputes_output());
    const MicroBatchLayout forward = lay_out_evaluation(sequence, kInput, {}, true);
    EXPECT_TRUE(forward.recomputed_runs.empty());
    EXPECT_EQ(forward.slot_bytes, output);
  }
}

// Else recomputation would begin with what enters the front, and run that again.
TEST(MicroBatchLayout, WhatEntersARunBehindFrozenLayersStays) {
  const layers::SavedDecl own{Kind::own, layers::Life::to_backward_input, layers::DType::f32, {99}};
  std::vector<Declared> layers = {{8, {own}}, {4, {own}}, {12, {own}}, {5, {own}}};
  for (int i : {0, 1}) layers[i].passes_gradient = false;
  const auto sequence = sequence_of(std::move(layers));
  for (const ChosenLayers& chosen :
       {ChosenLayers{false, false, true, false}, {false, true, true, false}}) {
    const MicroBatchLayout layout =
        lay_out_training(sequence, kInput, {}, {false, true, false, chosen});
    EXPECT_EQ(layout.recomputed_runs, (std::vector<LayerRun>{{0, 2}, {2, 3}}));
    EXPECT_EQ(layout.activation_places[2].region, Region::slot);
    EXPECT_EQ(layout.slot_bytes, activation_bytes(4) + layers::aligned(99 * 4) +
                                     layers::aligned(21 * 5 * 4) + layout.weights_bytes);
  }
}

TEST(MicroBatchLayout, UncomputedLossGetsNoWorkspace) {
  std::vector<Declared> layers = {{8, {}, 1000}, {4, {}, 500000}};
  layers.back().needs_targets = true;
  const auto sequence = sequence_of(std::move(layers));
  EXPECT_EQ(lay_out_evaluation(sequence, kInput, {}, true).scratch_bytes,
            activation_bytes(8) + layers::aligned(500000));
  EXPECT_EQ(lay_out_evaluation(sequence, kInput, {}, false).scratch_bytes,
            activation_bytes(8) + layers::aligned(1000));
}

/// Two utterances have 10 and 28 rows before their texts, and the longer one decides.
TEST(MicroBatchLayout, EvaluationHasCachesForTexts) {
  std::vector<Declared> layers = {{8, {}}, {8, {}}, {6, {}}};
  layers[1].cache_channels = 5;
  const auto sequence = sequence_of(std::move(layers));
  layers::ActivationDecl input{layers::DType::f32, {{{14, 28}, 4}}, {4, 0}};
  EXPECT_EQ(lay_out_evaluation(sequence, input, {}, true).cache_bytes, 0u) << "no text";
  input.ends_with_text = true;
  const MicroBatchLayout layout = lay_out_evaluation(sequence, input, {}, true);
  EXPECT_EQ(layout.cache_places[0].rows, 0);
  const CachePlace& place = layout.cache_places[1];
  EXPECT_EQ(place.rows, 28 + most_written(28));
  EXPECT_EQ(place.channels, 5);
  const std::size_t bytes = layers::aligned(2 * static_cast<std::size_t>(place.rows) * 5 * 4);
  EXPECT_EQ(place.values - place.keys, bytes);
  EXPECT_EQ(layout.cache_bytes,
            2 * bytes + layers::aligned(2 * 4 * 4) + layers::aligned(2 * 6 * 4));
  EXPECT_NE(layout.rows_in, layout.rows_out);
  EXPECT_EQ(lay_out_training(sequence, input, {}, {}).cache_bytes, 0u);
}

// Hypotheses of an utterance attend to one memory.
TEST(MicroBatchLayout, EvaluationHasCachesForEveryHypothesis) {
  std::vector<Declared> layers = {{8, {}}, {8, {}}, {6, {}}};
  layers[0].cache_channels = layers[1].cache_channels = 5;
  layers[1].caches_memory = true;
  const auto sequence = sequence_of(std::move(layers));
  layers::ActivationDecl input{layers::DType::f32, {{{14, 28}, 4}}, {4, 0}};
  input.ends_with_text = true;
  const MicroBatchLayout one = lay_out_evaluation(sequence, input, {}, true),
                         three = lay_out_evaluation(sequence, input, {}, true, 3);
  const auto bytes = [](std::int64_t slots, std::int64_t numbers) {
    return layers::aligned(static_cast<std::size_t>(slots * numbers * 4));
  };
  const std::int64_t of_text = (28 + most_written(28)) * 5, of_memory = 28 * 5;
  EXPECT_EQ(one.cache_bytes,
            2 * (bytes(2, of_text) + bytes(2, of_memory)) + bytes(2, 4) + bytes(2, 6));
  EXPECT_EQ(three.cache_bytes,
            2 * (bytes(6, of_text) + bytes(2, of_memory)) + bytes(6, 4) + bytes(6, 6));
  EXPECT_EQ(three.cache_places[0].rows, one.cache_places[0].rows);
}

TEST(MicroBatchLayout, EvaluationSavesNothing) {
  const auto sequence =
      sequence_of({{32, {{Kind::input, layers::Life::to_backward_weight}}},
                   {8, {{Kind::own, layers::Life::to_backward_input, layers::DType::f32, {100}}}}});
  const MicroBatchLayout layout = lay_out_evaluation(sequence, kInput, {}, true);
  EXPECT_EQ(layout.activation_places[1].region, Region::scratch);
  EXPECT_EQ(layout.slot_bytes, layers::aligned(21 * 8 * 4 + layout.weights_bytes));
}

}  // namespace
}  // namespace penstock::partition
