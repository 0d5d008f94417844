#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/import.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/runtime/evaluated_model.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

class ParakeetTransducer : public testing::Test {
 protected:
  static std::filesystem::path golden(const std::string& name) {
    return test::source("tests/golden/" + name);
  }

  Checkpoint import(const std::string& name) {
    std::filesystem::remove_all(checkpoint_);
    import_model(golden(name), checkpoint_);
    return open_checkpoint(checkpoint_);
  }

  /// Fails unless the frames that enter the joint network, and the losses, are those of
  /// transformers. The losses depend on every tensor behind the encoder.
  void expect_losses(const std::string& name, int labels) {
    const Checkpoint checkpoint = import(name);
    const test::Golden values(name + "/logits");
    test::EvaluatedModel model(checkpoint, values, labels);
    EXPECT_EQ(model.frames().lengths, values.integers("output_lengths"));
    const std::size_t count = values["encoded"].size();
    const std::vector<double> encoded(model.output(), model.output() + count);
    EXPECT_LE(test::relative_error(encoded, values["encoded"]), 1e-4);
    EXPECT_LE(test::relative_error(model.losses(), values["losses"]), 1e-4);
  }

  /// Returns the error of an import of a copy with another config.json; "" if there is none.
  std::string fault(const std::string& name, const std::string& from, const std::string& to) {
    const auto folder = output_.path() / "spoilt";
    std::filesystem::remove_all(folder);
    std::filesystem::copy(golden(name), folder);
    test::change_text(folder / "config.json", from, to);
    std::filesystem::remove_all(checkpoint_);
    return test::message_of<Error>([&] { import_model(folder, checkpoint_); });
  }

  test::TemporaryFolder output_;
  std::filesystem::path checkpoint_ = output_.path() / "checkpoint";
};

TEST_F(ParakeetTransducer, HasTheLossesOfParakeetForRNNT) { expect_losses("parakeet_for_rnnt", 8); }

TEST_F(ParakeetTransducer, HasTheLossesOfParakeetForTDT) { expect_losses("parakeet_for_tdt", 9); }

TEST_F(ParakeetTransducer, TakesTheSettings) {
  const Checkpoint tdt = import("parakeet_for_tdt");
  const auto& config = tdt.state().config;
  for (const auto& [key, value] :
       std::vector<std::array<const char*, 2>>{{"model.kind", "conformer"},
                                               {"model.decoder", "tdt"},
                                               {"model.width", "12"},
                                               {"decoder.prediction", "lstm"},
                                               {"decoder.width", "10"},
                                               {"decoder.joint", "10"},
                                               {"decoder.layers", "2"},
                                               {"decoder.activation", "relu"},
                                               {"decoder.durations", "[0, 1, 3]"},
                                               {"features.mels", "16"},
                                               {"text.kind", "sentencepiece"}})
    EXPECT_EQ(config.at(key), value) << key;
  EXPECT_EQ(tdt.tensor("transducer.joint.weight").shape, (layers::Shape{12, 10}));
  EXPECT_EQ(import("parakeet_for_rnnt").state().config.at("model.decoder"), "rnnt");
}

// The activation is not one of the encoder's.
TEST_F(ParakeetTransducer, TakesEitherActivation) {
  const std::string relu = "\"hidden_act\": \"relu\"";
  EXPECT_EQ(fault("parakeet_for_tdt", relu, "\"hidden_act\": \"tanh\""), "");
  EXPECT_EQ(open_checkpoint(checkpoint_).state().config.at("decoder.activation"), "tanh");
}

TEST_F(ParakeetTransducer, RefusesOthersByName) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"\"hidden_act\": \"relu\"", "\"hidden_act\": \"gelu\"",
       "hidden_act is \"gelu\", but penstock's models have relu or tanh"},
      {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"",
       "encoder_config.hidden_act is \"relu\", but penstock's models have \"silu\""},
      {"\"decoder_hidden_size\": 10", "\"decoder_hidden_size\": 0",
       "decoder_hidden_size is 0, but it must be a whole number above 0"},
      {"\"decoder_hidden_size\": 10", "\"decoder_hidden_size\": 11",
       "decoder.embedding.weight is [9, 10], expected [9, 11]"},
      {"\"num_decoder_layers\": 2", "\"num_decoder_layers\": 1", "has, decoder.lstm.weight_ih_l1"},
      {"\"durations\": [\n    0,", "\"durations\": [\n    -1,", "durations is [-1,1,3]"},
      {"\"durations\": [\n    0,", "\"durations\": [\n    2,",
       "config.json: durations: decoder.durations must ascend"},
      {"\"blank_token_id\": 8", "\"blank_token_id\": 9", "blank_token_id is 9, but the head has"},
  };
  for (const auto& [from, to, said] : cases) {
    const std::string message = fault("parakeet_for_tdt", from, to);
    EXPECT_NE(message.find(said), std::string::npos) << said << " is not in: " << message;
    EXPECT_FALSE(std::filesystem::exists(checkpoint_));
  }
}

}  // namespace
}  // namespace penstock::runtime
