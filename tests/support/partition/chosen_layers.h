#pragma once

#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::test {

/// A DeepSpeech2 of 14 layers of odd sizes.
inline partition::LayerSequence sequence_to_choose_from() {
  const configs::ModelConfig model{.features = 17,
                                   .family = layers::DeepSpeech2Options{
                                       .channels = 2, .hidden = 7, .layers = 2, .dropout = 0.1}};
  return partition::build_model(model, 9);
}

/// Returns the bytes of ragged micro-batches through 3 stages, and of a longer validation.
inline partition::ChunkBytes bytes_with(const partition::LayerSequence& sequence,
                                        const std::string& schedule,
                                        const partition::ChosenLayers& chosen) {
  const partition::ChunkLoad training{
      {{{61, 23, 40}}}, partition::make_schedule(schedule, 3, 5), chosen};
  const partition::ChunkLoad validation{{{{75, 52}}},
                                        partition::forward_only(training.schedule.chunk_rank, 4)};
  return partition::ChunkBytes(sequence, {training, validation}, {}, {});
}

/// The choice of layers [first, last) whose bits `mask` has, of the layer sequence's.
inline partition::ChosenLayers chosen_by(unsigned mask, int first, int last, int layers) {
  partition::ChosenLayers chosen(layers, false);
  for (int i = first; i < last; ++i) chosen[i] = (mask >> (i - first) & 1) != 0;
  return chosen;
}

/// A chunk of the middle stage.
struct ChunkAt {
  std::string schedule;
  int first = 0, last = 0, chunk = 0;
};

inline std::vector<ChunkAt> chunks_to_choose_from() {
  return {{"1f1b", 2, 11, 1}, {"gpipe", 0, 7, 0},       {"1f1b", 6, 14, 2},
          {"zb-h1", 1, 9, 1}, {"interleaved", 1, 9, 1}, {"zb-v", 0, 8, 0}};
}

}  // namespace penstock::test
