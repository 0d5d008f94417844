#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

// Each rank runs in a folder of its own: the first stage's has recordings and no manifest, the
// last one's manifests and no recordings.
TEST(ReadingRanks, AStageReadsOnlyWhatItsLayersNeed) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  for (const char* rank : {"0", "1"}) fs::create_directory(folder.in(rank));
  for (const auto& file : fs::directory_iterator(folder.in(""))) {
    const std::string name = file.path().filename();
    if (name.ends_with(".wav")) fs::copy_file(file, folder.in("0/" + name));
    if (name.ends_with(".jsonl")) fs::copy_file(file, folder.in("1/" + name));
  }
  const auto trained = folder.run_apart("train " + folder.in("recipe.toml") +
                                        " data.train=train.jsonl data.validation=validation.jsonl"
                                        " pipeline.stages=2 trainer.steps=3 trainer.output=" +
                                        folder.in("output"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  ASSERT_EQ(folder.train("alone", {"trainer.steps=3"}).code, 0);
  EXPECT_EQ(folder.record("output").losses, folder.record("alone").losses);

  const auto evaluated =
      folder.run_apart("evaluate " + folder.in("output") + " validation.jsonl --json");
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  const auto heard = folder.run_apart("transcribe " + folder.in("output") + " train-0.wav");
  EXPECT_EQ(heard.code, 0) << heard.err;
}

/// Puts zeros for all numbers of a safetensors file; its header stays.
void clear_numbers(const std::string& file) {
  std::string bytes = test::read_file(file);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(sizeof header + header), bytes.end(), '\0');
  test::write_file(file, bytes);
}

// In the last stage's folder the first stage's weights are zeros; rank 0 alone verifies the whole.
// Both runs take one plan: a cut by measured times may differ from run to run.
TEST(ReadingRanks, AStageStartsFromItsOwnLayersAlone) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  ASSERT_EQ(folder
                .run({"plan", folder.in("recipe.toml"), "pipeline.stages=2", "-o",
                      folder.in("plan.toml")})
                .code,
            0);
  const std::string plan = "pipeline.plan=" + folder.in("plan.toml");
  ASSERT_EQ(
      folder.train("first", {"trainer.steps=1", "pipeline.stages=2", plan}, {.count = 2}).code, 0);
  for (const char* rank : {"0", "1"}) {
    fs::create_directory(folder.in(rank));
    fs::copy(folder.in("first"), folder.in(rank) + std::string("/first"),
             fs::copy_options::recursive);
  }
  const std::string shard = folder.in("1/first/checkpoint-000000001/stage-0.safetensors");
  ASSERT_TRUE(fs::exists(shard));
  clear_numbers(shard);
  const auto trained = folder.run_apart("train " + folder.in("recipe.toml") +
                                        " trainer.init=first pipeline.stages=2 trainer.steps=2 " +
                                        plan + " trainer.output=" + folder.in("second"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  ASSERT_EQ(folder.train("alone", {"trainer.steps=2", "trainer.init=" + folder.in("first")}).code,
            0);
  EXPECT_EQ(folder.record("second"), folder.record("alone"));
}

}  // namespace
}  // namespace penstock::tools
