#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// Words that run a command without root's power to write where it is not allowed to. A user who
/// isn't root has no such power anyway.
std::vector<std::string> without_power() {
  if (geteuid() != 0) return {};
  const std::string drop = "-dac_override";
  return {"setpriv", "--inh-caps=" + drop, "--bounding-set=" + drop};
}

test::Outcome run(std::vector<std::string> words) {
  const auto before = without_power();
  words.insert(words.begin(), before.begin(), before.end());
  return test::run_program(words);
}

class ReadOnlyOutput : public testing::Test {
 protected:
  ReadOnlyOutput() {
    fs::create_directory(output_);
    fs::permissions(output_, fs::perms::owner_read | fs::perms::owner_exec);
  }
  ~ReadOnlyOutput() override { fs::permissions(output_, fs::perms::owner_all); }

  void SetUp() override {
    if (run({"test", "!", "-w", output_.string()}).code != 0)
      GTEST_SKIP() << "root can't be kept from writing to read-only folders here";
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  const fs::path output_ = folder_.in("output");
};

TEST_F(ReadOnlyOutput, IsRejectedBeforeTheFirstStep) {
  for (const fs::path& path : {output_, output_ / "run"}) {
    const auto outcome = run(
        {PENSTOCK_BINARY, "train", folder_.in("recipe.toml"), "trainer.output=" + path.string()});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(output_.string()), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("ermission denied"), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find("step"), std::string::npos) << outcome.err;
    EXPECT_TRUE(fs::is_empty(output_));
    EXPECT_FALSE(fs::exists(folder_.in("train.jsonl.index")));
  }
}

TEST_F(ReadOnlyOutput, IsNotReplacedByAResult) {
  const std::string file = folder_.in("lists.csv"), inside = output_ / "lists.csv";
  test::write_file(file, "old");
  fs::permissions(file, fs::perms::owner_read);
  for (const std::string& csv : {file, inside}) {
    const auto outcome = run({PENSTOCK_BINARY, "schedule", "gpipe", "--stages", "2",
                              "--micro-batches", "3", "--csv", csv});
    EXPECT_EQ(outcome.code, 2) << csv;
    EXPECT_EQ(outcome.out, "") << csv;
    EXPECT_NE(outcome.err.find("--csv: can't write " + csv), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("ermission denied"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(test::read_file(file), "old");
}

}  // namespace
}  // namespace penstock::tools
