#include "layers/models/decoders.h"

#include <gtest/gtest.h>

#include <set>

#include "layers/models/families.h"

namespace penstock::layers {
namespace {

std::vector<std::unique_ptr<Layer>> layers_of(const Loss& loss, int classes) {
  std::vector<std::unique_ptr<Layer>> layers;
  loss.add_layers(layers, classes);
  return layers;
}

TEST(Decoders, HaveNamesOfTheirOwn) {
  const std::vector<DecoderKind> all = decoders();
  std::set<std::string_view> names;
  for (const DecoderKind& decoder : all)
    EXPECT_TRUE(names.insert(decoder.name).second) << decoder.name;
  for (const std::string_view name : names) EXPECT_EQ(find_decoder(all, name).name, name);
}

TEST(Decoders, TakeTheDefaultsOfTheirOptions) {
  for (const DecoderKind& decoder : decoders())
    EXPECT_TRUE(decoder.contradictions({}).empty()) << decoder.name;
}

TEST(Decoders, DeclareAllThatATrainingAsks) {
  for (const DecoderKind& decoder : decoders()) {
    const Loss loss = decoder.loss({.width = 4, .joint = 4, .heads = 2});
    const ModelEnds ends{.labels = 5, .loss = loss};
    ActivationDecl input{DType::f32, {{{7, 3}, ends.outputs()}}};
    LayerPlan plan;
    for (const auto& layer : layers_of(loss, 5)) {
      plan = layer->plan(input, {});
      input = next_input(input, plan);
    }
    EXPECT_TRUE(plan.needs_targets) << decoder.name;
    EXPECT_TRUE(plan.output.frames.empty()) << decoder.name;
    EXPECT_LE(loss.frames_needed({}), 1) << decoder.name;
    if (loss.writing) continue;  // it has no decoder of frames
    std::vector<HostParameter> zeros;
    for (const ParamDecl& p : plan.params)
      zeros.push_back(
          {p.shape, std::vector<float>(static_cast<std::size_t>(element_count(p.shape)))});
    const std::vector<float> silent(static_cast<std::size_t>(2 * ends.outputs()));
    const Decoder greedy =
        loss.make_decoder(zeros, {});  // class 0 is no text, and wins among equals
    EXPECT_TRUE(greedy(silent, ends.outputs(), 5).front().labels.empty()) << decoder.name;
  }
}

TEST(Decoders, EndTheModelsOfEveryFamily) {
  for (const ModelFamily& family : model_families())
    for (const DecoderKind& decoder : family.decoders()) {
      const int features = family.name() == "wav2vec2" ? 1 : 80;
      const Loss loss = decoder.loss({.width = 4, .joint = 4, .heads = 2});
      const auto sequence = build_layers(family, {.features = features, .labels = 5, .loss = loss});
      const auto ends = layers_of(loss, 5);
      ASSERT_GT(sequence.size(), ends.size());
      for (std::size_t i = 1; i <= ends.size(); ++i)
        EXPECT_EQ(sequence[sequence.size() - i]->name(), ends[ends.size() - i]->name())
            << family.name() << " " << decoder.name;
    }
}

}  // namespace
}  // namespace penstock::layers
