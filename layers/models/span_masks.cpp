#include "layers/models/span_masks.h"

#include <fmt/format.h>

#include "base/quantities.h"

namespace penstock::layers {

std::vector<Key> span_mask_keys(SpanMaskOptions* masks) {
  constexpr int kMost = 10000;
  return {
      Key("model.apply_spec_augment", &masks->apply, anything(),
          "mask frames and channels before the first block in training, as model.mask_time_prob "
          "and model.mask_feature_prob say"),
      Key("model.mask_time_prob", &masks->time.share, between(0, 1),
          "share of the frames in spans that a trained vector replaces before the first block, in "
          "training; 0: none"),
      Key("model.mask_time_length", &masks->time.length, between(1, kMost),
          "frames of such a span"),
      Key("model.mask_time_min_masks", &masks->time.least, between(0, kMost),
          "such spans of an utterance at least"),
      Key("model.mask_feature_prob", &masks->features.share, between(0, 1),
          "share of the channels in bands that become 0 in a whole utterance before the first "
          "block, in training; 0: none"),
      Key("model.mask_feature_length", &masks->features.length, between(1, kMost),
          "channels of such a band"),
      Key("model.mask_feature_min_masks", &masks->features.least, between(0, kMost),
          "such bands of an utterance at least"),
  };
}

bool is_key_of_masks(std::string_view name) {
  return name == "model.apply_spec_augment" || name.starts_with("model.mask_");
}

std::vector<Contradiction> span_mask_contradictions(const SpanMaskOptions& masks, int channels) {
  if (masks.features.share == 0 || masks.features.length <= channels) return {};
  return {{"model.mask_feature_length",
           fmt::format("bands of {} fit in no frame of {}: set model.mask_feature_length to {} or "
                       "less, or model.mask_feature_prob = 0",
                       counted(masks.features.length, "channel"), channels, channels)}};
}

void add_span_mask(std::vector<std::unique_ptr<Layer>>& sequence, const SpanMaskOptions& masks,
                   int channels) {
  if (masks.any()) sequence.push_back(std::make_unique<SpanMaskLayer>("mask", channels, masks));
}

}  // namespace penstock::layers
