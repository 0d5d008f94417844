#include <gtest/gtest.h>

#include "comm/threads.h"
#include "configs/flatten.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/newest.h"
#include "runtime/huggingface/import.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

/// Runs of one step from a model of transformers.
class ImportedWeights : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  void write_corpus() const {
    std::string lines;
    for (const char* name : {"a.wav", "b.wav"}) {
      ASSERT_TRUE(test::write_sound(in(name), test::make_sound(16000, lines.empty() ? 1 : 2)));
      lines += std::string(R"({"audio_filepath": ")") + name + R"(", "text": "ab"})" + "\n";
    }
    test::write_file(in("train.jsonl"), lines);
  }

  /// Fails unless training takes the weights, whatever head it has.
  void expect_start(const std::string& golden, const std::string& head) {
    const std::string imported = in(golden), output = in(golden + "-" + head);
    if (!std::filesystem::exists(imported))
      import_model(test::source("tests/golden/" + golden), imported);
    const Checkpoint before = open_checkpoint(imported);
    configs::Config config =
        configs::unflatten(before.state().config, "the checkpoint", layers::model_families());
    config.data.train = in("train.jsonl");
    config.data.micro_batches = 1;
    config.optimizer.freeze = {"block1.attention.*"};
    config.trainer.steps = 1;
    config.trainer.output = output;
    config.trainer.init = imported;
    config.trainer.init_head = head;
    comm::run_as_threads({.ranks = 1},
                         [&](comm::Communicator& world) { (void)train({config}, world, {}); });
    const Checkpoint after = open_checkpoint(output);
    EXPECT_EQ(after.state().optimizer_steps, 1);
    EXPECT_EQ(numbers(after, kAttention), numbers(before, kAttention));
    EXPECT_NE(numbers(after, "output.weight"), numbers(before, "output.weight"));
  }

 private:
  static constexpr const char* kAttention = "block1.attention.qkv.weight";

  static std::vector<std::byte> numbers(const Checkpoint& checkpoint, const char* name) {
    const std::int64_t count = layers::element_count(checkpoint.tensor(name).shape);
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * sizeof(float));
    checkpoint.read(name, 0, count, bytes);
    return bytes;
  }

  test::TemporaryFolder folder_;
};

// Both keep tensors that no model of penstock has.
TEST_F(ImportedWeights, StartTrainings) {
  write_corpus();
  for (const char* golden : {"wav2vec2_for_ctc", "parakeet_for_ctc"})
    for (const char* head : {"keep", "new"}) expect_start(golden, head);
}

}  // namespace
}  // namespace penstock::runtime
