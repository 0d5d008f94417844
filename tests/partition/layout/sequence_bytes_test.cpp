#include "partition/layout/sequence_bytes.h"

#include <gtest/gtest.h>

#include <array>

#include "layers/models/conformer.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"

namespace penstock::partition {
namespace {

/// Conformer blocks after frozen layers, whose units recompute cheap parts.
LayerSequence partly_frozen() {
  configs::Config config;
  config.model = {.features = 17,
                  .family = layers::ConformerOptions{
                      .width = 12, .heads = 3, .layers = 2, .kernel = 5, .dropout = 0.1}};
  config.pipeline.recompute = kSelective;
  config.optimizer.freeze = {"subsampling*", "block1.feed*", "block2.norm*"};
  return build_trained_model(config, 9);
}

std::array<std::size_t, 6> numbers(const BufferBytes& bytes) {
  return {bytes.slot,  bytes.recomputed,      bytes.scratch,
          bytes.input, bytes.output_gradient, bytes.input_gradient};
}

TEST(RangeBuffers, AreThoseOfLayersPlannedByThemselves) {
  const LayerSequence sequence = partly_frozen();
  const layers::BackendSizes sizes{.compute = layers::DType::bf16};
  const std::vector<MicroBatchLengths> micro_batches{{{61, 23, 40}, {5, 0, 7}}, {{97}}};
  RangeBuffers buffers(sequence, micro_batches, sizes);
  for (int first = 0; first < sequence.size(); ++first)
    for (int last = first + 1; last <= sequence.size(); ++last) {
      const auto layers = LayerRange(sequence.layers).subspan(first, last - first);
      for (const bool split : {false, true}) {
        const ChunkRole role{first > 0, last < sequence.size(), split, {}};
        BufferBytes training, evaluation;
        for (const auto& [lengths, labels] : micro_batches) {
          const auto plans = plan_layers(sequence, lengths, sizes);
          const layers::ActivationDecl input =
              first == 0 ? sequence_input(sequence, lengths, sizes) : plans[first - 1].output;
          training.cover(lay_out_training(layers, input, sizes, role), role);
          evaluation.cover(lay_out_evaluation(layers, input, sizes, true), {});
        }
        EXPECT_EQ(numbers(buffers.of({first, last}, true, split)), numbers(training))
            << first << ", " << last;
        EXPECT_EQ(numbers(buffers.of({first, last}, false, split)), numbers(evaluation))
            << first << ", " << last;
      }
    }
}

TEST(RangeBuffers, HaveRoomForEveryHypothesis) {
  configs::ModelConfig model{
      .features = 17,
      .family = layers::ConformerOptions{.width = 12, .heads = 3, .layers = 1, .kernel = 5}};
  model.decoder = "lm";
  model.networks.width = 12;
  model.networks.heads = 2;
  LayerSequence sequence = build_model(model, 7);
  const MicroBatchLengths lengths{{61, 97}, {5, 0}};
  const auto cache = [&](int beam) {
    sequence.beam = beam;
    RangeBuffers buffers(sequence, {lengths}, {});
    return buffers.of({0, sequence.size()}, false, false).cache;
  };
  const layers::ActivationDecl input = sequence_input(sequence, lengths.frames, {}, lengths.labels);
  EXPECT_EQ(cache(3), lay_out_evaluation(sequence.layers, input, {}, true, 3).cache_bytes);
  EXPECT_GT(cache(3), 2 * cache(1));
}

TEST(SequenceBytes, SumsAreThoseOfLayersLaidOutTogether) {
  const LayerSequence sequence = partly_frozen();
  for (const ParameterKinds& kinds :
       {ParameterKinds{}, ParameterKinds{.compute = layers::DType::bf16},
        ParameterKinds{.compute = layers::DType::f16, .slots = SlotFormat::codes},
        ParameterKinds{.slots = SlotFormat::bf16}}) {
    SequenceBytes bytes(sequence, {.compute = kinds.compute}, kinds);
    const ParameterBytes parameters{.lanes_of = {3, 2},
                                    .slots = {.averages = 1},
                                    .kinds = kinds,
                                    .rollback = true,
                                    .reduction = [](const ParameterLayout& layout) {
                                      return std::vector<std::size_t>(3, layout.arena / 7);
                                    }};
    for (int first = 0; first < sequence.size(); ++first)
      for (int last = first + 1; last <= sequence.size(); ++last) {
        const std::vector<layers::LayerPlan> plans(bytes.plans().begin() + first,
                                                   bytes.plans().begin() + last);
        for (const int replica : {0, 1})
          EXPECT_EQ(stage_bytes(bytes.sums({first, last}), {}, parameters, replica),
                    stage_bytes(plans, {}, parameters, replica))
              << first << ", " << last;
        const ParameterLayout layout = lay_out_parameters(plans, kinds, 0);
        EXPECT_EQ(bytes.sums({first, last}).arena, layout.arena);
        EXPECT_EQ(bytes.sums({first, last}).masters, layout.masters);
        EXPECT_EQ(scale_bytes(bytes.sums({first, last}).slot, kinds), layout.scales);
      }
  }
}

}  // namespace
}  // namespace penstock::partition
