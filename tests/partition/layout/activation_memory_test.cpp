// These tests count the memory of a long utterance in the real models, without allocating it.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "layers/models/conformer.h"
#include "layers/models/wav2vec2.h"
#include "partition/layout/build_model.h"
#include "partition/layout/micro_batch_layout.h"

namespace penstock::partition {
namespace {

struct LongModel {
  const char* name;
  configs::ModelConfig model;
  int frames_per_second, labels;
};

void PrintTo(const LongModel& model, std::ostream* out) { *out << model.name; }

class ActivationMemory : public testing::TestWithParam<LongModel> {
 protected:
  /// One utterance on one stage; `recompute` as the key.
  static MicroBatchLayout laid_out(int seconds, const std::string& recompute) {
    configs::PipelineConfig pipeline;
    pipeline.recompute = recompute;
    const auto& [name, model, frames_per_second, labels] = GetParam();
    const LayerSequence sequence = build_model(model, labels, pipeline);
    const std::vector<std::int64_t> lengths{std::int64_t{seconds} * frames_per_second};
    ChunkRole role;
    if (recompute == "stage") role.recomputes.assign(sequence.layers.size(), true);
    return lay_out_training(sequence.layers, sequence_input(sequence, lengths, {}), {}, role);
  }
};

// A frame more or less leaves the convolutions: of 188 frames, 0.3 %.
TEST_P(ActivationMemory, GrowsWithDurationAlone) {
  for (const char* recompute : {"none", "selective", "stage"}) {
    std::vector<double> kept, scratch;
    for (const int seconds : {15, 30, 60}) {
      const MicroBatchLayout layout = laid_out(seconds, recompute);
      kept.push_back(static_cast<double>(layout.slot_bytes + layout.recomputed_bytes));
      scratch.push_back(static_cast<double>(layout.scratch_bytes));
    }
    EXPECT_NEAR(kept[2] - kept[1], 2 * (kept[1] - kept[0]), 0.005 * kept[2]) << recompute;
    EXPECT_NEAR(kept[1] / kept[0], 2, 0.02) << recompute;
    EXPECT_NEAR(kept[2] / kept[1], 2, 0.01) << recompute;
    EXPECT_NEAR(scratch[2] - scratch[1], 2 * (scratch[1] - scratch[0]), 0.05 * scratch[2])
        << recompute;
  }
}

TEST_P(ActivationMemory, IsLessWithRecomputation) {
  const MicroBatchLayout none = laid_out(15, "none"), selective = laid_out(15, "selective"),
                         stage = laid_out(15, "stage");
  EXPECT_LT(selective.slot_bytes, 0.91 * static_cast<double>(none.slot_bytes));
  EXPECT_LT(stage.slot_bytes, 0.01 * static_cast<double>(none.slot_bytes));
  EXPECT_EQ(stage.slot_bytes + stage.recomputed_bytes, none.slot_bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Of, ActivationMemory,
    testing::Values(LongModel{"omni_ctc_300m",
                              {.features = 1,
                               .family =
                                   layers::Wav2Vec2Options{
                                       .width = 1024, .heads = 16, .layers = 24, .inner = 4096}},
                              16000,
                              9812},
                    LongModel{"fastconformer_l",
                              {.features = 80,
                               .family = layers::ConformerOptions{.width = 512,
                                                                  .heads = 8,
                                                                  .layers = 17,
                                                                  .kernel = 9,
                                                                  .subsampling = 8,
                                                                  .channels = 256,
                                                                  .scale_input = true}},
                              100,
                              1025}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace penstock::partition
