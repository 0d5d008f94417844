#include <gtest/gtest.h>

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
  const auto run = [&](const std::string& words) {
    return test::run_program(
        {"timeout", "-k", "2", "30", PENSTOCK_MPIRUN, "--allow-run-as-root", "--oversubscribe",
         "-np", "2", "sh", "-c",
         "cd " + folder.in("") + "/$OMPI_COMM_WORLD_RANK && exec " + PENSTOCK_BINARY " " + words});
  };
  const auto trained = run("train " + folder.in("recipe.toml") +
                           " data.train=train.jsonl data.validation=validation.jsonl"
                           " pipeline.stages=2 trainer.steps=3 trainer.output=" +
                           folder.in("output"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  ASSERT_EQ(folder.train("alone", {"trainer.steps=3"}).code, 0);
  EXPECT_EQ(folder.record("output").losses, folder.record("alone").losses);

  const auto evaluated = run("evaluate " + folder.in("output") + " validation.jsonl --json");
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  const auto heard = run("transcribe " + folder.in("output") + " train-0.wav");
  EXPECT_EQ(heard.code, 0) << heard.err;
}

}  // namespace
}  // namespace penstock::tools
