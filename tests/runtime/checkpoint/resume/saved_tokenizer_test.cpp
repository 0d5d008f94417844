#include "runtime/checkpoint/resume/saved_tokenizer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/flatten.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/resume/corrections.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/save.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::message_of;

/// An output folder with checkpoints of steps 1 and 2 that keep pieces, and a recipe that has lost
/// its own.
class SavedTokenizer : public testing::Test {
 protected:
  SavedTokenizer() {
    for (const std::int64_t step : {1, 2}) save(step);
    recipe_.text.kind = "sentencepiece";
    recipe_.text.model = (output_.path() / "gone.model").string();
    recipe_.trainer.output = output_.path().string();
    recipe_.trainer.resume = true;
  }
  void save(std::int64_t step) const {
    const auto tensors = test::example_tensors(step);
    const fs::path folder = start_save(output_.path(), step);
    const ShardIndex shard = write_shard(folder, "stage-0", test::example_pieces(tensors, 0, 1));
    TrainingState state;
    state.step = step;
    commit(folder, state, {shard}, kBytes);
  }
  fs::path kept(int step) const {
    return output_.path() / ("checkpoint-00000000" + std::to_string(step)) / "tokenizer.model";
  }
  std::string found() const { return with_saved_tokenizer(recipe_).text.model; }

  static constexpr const char* kBytes = "some pieces";
  const test::TemporaryFolder output_;
  configs::Config recipe_;
};

TEST_F(SavedTokenizer, IsAFileOfTheCheckpoint) {
  const Checkpoint checkpoint(output_.path() / "checkpoint-000000002");
  EXPECT_EQ(checkpoint.tokenizer_file(), kept(2));
  EXPECT_EQ(checkpoint.state().tokenizer_hash, xxh3_128(std::string_view(kBytes)));
  EXPECT_EQ(test::read_file(kept(2)), kBytes);
  EXPECT_EQ(Checkpoint(test::save_example(output_.path(), 3, 1)).tokenizer_file(), "");
}

TEST_F(SavedTokenizer, DamageBreaksTheCheckpoint) {
  test::write_file(kept(2), "Some pieces");
  EXPECT_NE(message_of<CheckpointError>([&] {
              Checkpoint{kept(2).parent_path()};
            }).find(kept(2).string() + ": damaged"),
            std::string::npos);
  const auto silent = [](const std::string&) {};
  EXPECT_EQ(newest(output_.path(), silent)->state().step, 1);
  fs::remove(kept(1));
  EXPECT_THROW((void)newest(output_.path(), silent), CheckpointError);
}

TEST_F(SavedTokenizer, StandsInForALostFile) {
  EXPECT_EQ(found(), kept(2));
  test::write_file(kept(2), "x");
  EXPECT_EQ(found(), kept(1));
  fs::remove(kept(1));
  EXPECT_EQ(found(), recipe_.text.model);
}

TEST_F(SavedTokenizer, LeavesOtherRecipesAlone) {
  recipe_.trainer.resume = false;
  EXPECT_EQ(found(), recipe_.text.model);
  recipe_.trainer.resume = true;
  test::write_file(recipe_.text.model, "others");
  EXPECT_EQ(found(), recipe_.text.model);
  recipe_.text = {};
  EXPECT_EQ(found(), "");
}

TEST_F(SavedTokenizer, MustBeTheResumedRuns) {
  TrainingState saved = Checkpoint(output_.path() / "checkpoint-000000002").state();
  saved.config = configs::flatten(recipe_);
  test::write_file(recipe_.text.model, kBytes);
  EXPECT_TRUE(accepted_changes(recipe_, saved).empty());
  const std::string moved = output_.path() / "moved.model";
  fs::rename(recipe_.text.model, moved);
  recipe_.text.model = moved;
  EXPECT_TRUE(accepted_changes(recipe_, saved).empty());
  test::write_file(moved, "other pieces");
  const std::string refused =
      message_of<ConfigError>([&] { (void)accepted_changes(recipe_, saved); });
  EXPECT_NE(refused.find("\n  text.model: was a file with the XXH3-128 " + saved.tokenizer_hash +
                         ", is now " + moved),
            std::string::npos)
      << refused;
}

}  // namespace
}  // namespace penstock::runtime
