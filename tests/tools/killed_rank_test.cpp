#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A shell that becomes the rank, and is killed once the first steps are done.
std::string killed_when_training(const std::string& output, const std::string& command) {
  return "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then "
         "(until grep -q step '" +
         output + "/metrics.jsonl' 2> /dev/null; do sleep 0.1; done; date +%s > '" + output +
         "/killed'; kill -9 $$) & fi; exec " + command;
}

TEST(KilledRank, EndsTheJobAndLeavesWholeCheckpoints) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const std::string output = folder.in("output");
  const std::string train =
      PENSTOCK_BINARY " train " + folder.in("recipe.toml") + " trainer.output=" + output +
      " pipeline.stages=2 trainer.steps=1000000 trainer.checkpoint_every=1 data.validation=";
  const auto outcome = test::run_program({"timeout", "-k", "2", "30", PENSTOCK_MPIRUN,
                                          "--allow-run-as-root", "--oversubscribe", "-np", "2",
                                          "sh", "-c", killed_when_training(output, train)});
  EXPECT_EQ(outcome.code, 128 + 9) << outcome.err;
  EXPECT_NE(outcome.err.find("signal 9"), std::string::npos) << outcome.err;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_LE(std::chrono::duration_cast<std::chrono::seconds>(now).count(),
            std::stoll(test::read_file(output + "/killed")) + 10);

  const auto resumed = folder.train("output", {"trainer.resume=true", "trainer.steps=1"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

}  // namespace
}  // namespace penstock::tools
