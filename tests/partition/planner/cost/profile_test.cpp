#include "partition/planner/cost/profile.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/config.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::partition {
namespace {

std::string error_message(const std::string& text) {
  return test::message_of<ConfigError>([&] { parse_profile(text, "chain.json"); });
}

TEST(Profile, ReadsASequenceAndIgnoresOtherMembers) {
  const SequenceProfile sequence = parse_profile(R"({
    "name": "two", "source": "by hand", "optimal_bottleneck_ms": {"2": 3.5},
    "layers": [
      {"name": "conv", "forward_ms": 1.5, "backward_ms": 2, "activation_bytes": 64,
       "parameter_bytes": 16, "transfer_ms": 0.25, "colour": "red"},
      {"name": "ctc", "forward_ms": 0, "backward_ms": 0, "activation_bytes": 0,
       "parameter_bytes": 0, "transfer_ms": 0}]})",
                                                 "chain.json");
  EXPECT_EQ(sequence.name, "two");
  ASSERT_EQ(sequence.layers.size(), 2u);
  EXPECT_EQ(sequence.layers[0].name, "conv");
  EXPECT_EQ(sequence.layers[0].forward_ms, 1.5);
  EXPECT_EQ(sequence.layers[0].backward_ms, 2);
  EXPECT_EQ(sequence.layers[0].activation_bytes, 64);
  EXPECT_EQ(sequence.layers[0].parameter_bytes, 16);
  EXPECT_EQ(sequence.layers[0].transfer_ms, 0.25);
  EXPECT_EQ(sequence.layers[1].name, "ctc");
}

TEST(Profile, ReadsPublishedSequences) {
  EXPECT_EQ(read_profile(test::source("tests/partition/data/gnmt.json")).layers.size(), 45u);
}

TEST(Profile, NamesFileLayerAndFieldOfEveryFault) {
  EXPECT_EQ(
      error_message(R"({"name": "one", "layers": [
              {"name": "conv", "forwrd_ms": 1, "backward_ms": -2, "activation_bytes": "64",
               "parameter_bytes": 16}]})"),
      "the profile can't be used:\n"
      "  chain.json: layers[0] (conv): forward_ms is missing; did you mean forwrd_ms?\n"
      "  chain.json: layers[0] (conv): backward_ms = -2, but it takes a number from 0 to "
      "1e+18\n"
      "  chain.json: layers[0] (conv): activation_bytes = \"64\", but it takes a number from 0 "
      "to 1e+18\n"
      "  chain.json: layers[0] (conv): transfer_ms is missing");
  EXPECT_EQ(error_message(R"({"source": "x", "layers": []})"),
            "the profile can't be used:\n"
            "  chain.json: name is missing\n"
            "  chain.json: layers: expected a list of at least one layer, found []");
  EXPECT_EQ(error_message(R"({"name": 3, "layers": [4]})"),
            "the profile can't be used:\n"
            "  chain.json: name = 3, but it takes text\n"
            "  chain.json: layers[0]: expected an object, found 4");
  EXPECT_NE(error_message(R"({"name": "x", "layers": [{"name": "a", "forward_ms": 1e300,
                "backward_ms": 1, "activation_bytes": 1, "parameter_bytes": 1, "transfer_ms": 0}]})")
                .find("forward_ms = 1e+300, but it takes a number from 0 to 1e+18"),
            std::string::npos);
  EXPECT_NE(error_message("[]").find("expected an object with name and layers, found []"),
            std::string::npos);
  EXPECT_NE(error_message("{\"name\": ").find("chain.json: not JSON: "), std::string::npos);
  EXPECT_NE(error_message(R"({"name": "x", "layers": 1e999})").find("not JSON"), std::string::npos);
}

TEST(Profile, NamesAFileThatIsNotThere) {
  EXPECT_NE(test::message_of<ConfigError>([] { read_profile("/gone.json"); }).find("/gone.json"),
            std::string::npos);
}

TEST(Profile, RefusesWhatNestsTooDeeply) {
  constexpr std::size_t kDepth = 1'000'000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_EQ(error_message("{\"name\": " + deep + "}"),
            "the profile can't be used:\n  chain.json: nests deeper than 128");
}

}  // namespace
}  // namespace penstock::partition
