#include "layers/models/families.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "layers/models/conformer.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/qwen3_asr.h"
#include "layers/models/rated_layer.h"
#include "layers/models/transformer.h"
#include "layers/models/wav2letter.h"
#include "layers/models/wav2vec2.h"
#include "layers/models/whisper.h"
#include "layers/nn/inner_layer.h"

namespace penstock::layers {

std::vector<ModelFamily> model_families() {
  return {DeepSpeech2Options(), ConformerOptions(), TransformerOptions(), Wav2Vec2Options(),
          Wav2LetterOptions(),  WhisperOptions(),   Qwen3AsrOptions()};
}

std::vector<std::unique_ptr<Layer>> build_layers(const ModelFamily& family, const ModelEnds& ends) {
  if (!family.options()) throw ConfigError("the model can't be built: model.kind names no family");
  return family.options()->build(ends);
}

// Units are found by their type, so this must precede the wrapping of layers with learning rates of
// their own.
void recompute_cheap_parts(std::span<const std::unique_ptr<Layer>> layers) {
  for (const auto& layer : layers) {
    if (auto* const unit = dynamic_cast<Residual*>(layer.get())) unit->recompute_cheap_parts();
    if (auto* const holder = dynamic_cast<HoldsLayers*>(layer.get()))
      for (InnerLayer* const inner : holder->inner())
        recompute_cheap_parts({&inner->replaceable(), 1});
  }
}

// A layer with learning rates of its own is a wrapper, under which the unit lies. Its parts are
// wrapped as well, and state their rates.
std::vector<ResidualPart> parts_of(const Layer& layer, const ActivationDecl& input,
                                   const BackendSizes& sizes) {
  if (const auto* const rated = dynamic_cast<const RatedLayer*>(&layer))
    return parts_of(rated->rated(), input, sizes);
  const auto* const unit = dynamic_cast<const Residual*>(&layer);
  if (unit != nullptr) return unit->parts(input, sizes);
  const auto* const holder = dynamic_cast<const HoldsLayers*>(&layer);
  std::vector<ResidualPart> parts;
  if (holder == nullptr) return parts;
  const std::vector<ActivationDecl> inputs = holder->inputs_of_inner(input);
  const std::vector<const InnerLayer*> inner = holder->inner();
  for (std::size_t i = 0; i < inner.size(); ++i) {
    std::vector<ResidualPart> own = parts_of(inner[i]->layer(), inputs[i], sizes);
    if (own.empty())
      own.push_back({&inner[i]->layer(), inputs[i], inner[i]->layer().plan(inputs[i], sizes)});
    std::ranges::move(own, std::back_inserter(parts));
  }
  return parts;
}

}  // namespace penstock::layers
