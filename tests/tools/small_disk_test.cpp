#include <gtest/gtest.h>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A run whose output folder lies on a file system of a few MiB.
class SmallDiskRun : public testing::Test {
 protected:
  /// A checkpoint of this model takes 8,425,384 bytes at most.
  test::Outcome train(int kib, const std::string& more) const {
    const std::string disk = folder_.in("disk");
    return test::run_program(
        {"unshare", "-m", "sh", "-c",
         "mkdir -p " + disk + "; mount -t tmpfs -o size=" + std::to_string(kib) + "k none " + disk +
             " || exit 99; timeout 30 " PENSTOCK_BINARY " train " + folder_.in("recipe.toml") +
             " data.validation= model.hidden=180 trainer.steps=1 trainer.output=" + disk + "/run " +
             more + "; code=$?; ls -A " + disk + "; exit $code"});
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(SmallDiskRun, IsRefusedWithWhatIsMissing) {
  const auto outcome = train(29000, "");
  if (outcome.code == 99 || outcome.err.find("unshare") != std::string::npos)
    GTEST_SKIP() << "no file system can be mounted here: " << outcome.err;
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_EQ(outcome.out, "");  // no folder, no lock
  EXPECT_NE(outcome.err.find(folder_.in("disk/run") + ": 40"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(" bytes are missing: a checkpoint takes up to 8425384 bytes"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("\n  trainer.keep=2\n"), std::string::npos) << outcome.err;
  EXPECT_EQ(train(29000, "trainer.keep=2").code, 0);
}

}  // namespace
}  // namespace penstock::tools
