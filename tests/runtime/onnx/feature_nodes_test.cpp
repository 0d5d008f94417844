#include "runtime/onnx/feature_nodes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/runtime/onnx_model.h"

namespace penstock::runtime {
namespace {

/// Returns what is wrong with the graph of features.
std::vector<std::string> find_faults(const configs::FeatureConfig& config) {
  OnnxGraph graph;
  graph.input({"x", {"samples"}});
  graph.output(add_features(graph, config, "x"), {"features", {"frames", "channels"}});
  test::OnnxModel model = test::read_graph(graph.message_without_constants());
  for (const GraphConstant& constant : graph.constants()) {
    EXPECT_EQ(constant.make().size(), constant.bytes()) << constant.name;
    model.constants[constant.name];
  }
  return model.faults();
}

TEST(FeatureNodes, HaveASoundGraphOfEveryKind) {
  for (const char* kind :
       {"spectrogram", "log-mel", "fbank", "whisper", "whisper-30s", "whisper-0.5s", "waveform"})
    for (const int stack : {1, 3}) {
      const configs::FeatureConfig config{
          .kind = kind, .fft = 512, .preemphasis = 0.9, .normalise = "channel", .stack = stack};
      EXPECT_EQ(find_faults(config), std::vector<std::string>{}) << kind;
    }
}

TEST(FeatureNodes, RefuseWhatTheExtractorRefuses) {
  EXPECT_THROW((void)find_faults({.kind = "cepstrum"}), ConfigError);
}

TEST(FeatureNodes, KnowWhereTheLevelMatters) {
  EXPECT_TRUE(level_matters({.kind = "spectrogram"}));
  EXPECT_TRUE(level_matters({.kind = "whisper-30s"}));
  EXPECT_FALSE(level_matters({.kind = "fbank"}));
  EXPECT_FALSE(level_matters({.kind = "waveform"}));
}

}  // namespace
}  // namespace penstock::runtime
