#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/collectives.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/comm/counted_communicator.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// Calls by which this process has read and written, of all its threads.
std::int64_t file_operations() {
  std::ifstream io("/proc/self/io");
  std::int64_t sum = 0, number = 0;
  for (std::string name; io >> name >> number;)
    if (name == "syscr:" || name == "syscw:") sum += number;
  return sum;
}

/// Counts what all ranks together have done when the first step begins.
struct Start {
  int ranks = 0;
  std::int64_t messages = 0, pairs = 0, files = 0;
};

class StartOfManyRanks : public testing::Test {
 protected:
  StartOfManyRanks() {
    test::write_tone_corpus(in("train.jsonl"), 64, 1);
    test::write_tone_corpus(in("validation.jsonl"), 3, 2);
  }

  Start start(int replicas) {
    const std::string ranks = std::to_string(replicas);
    const std::vector<std::string> overrides = {
        "pipeline.replicas=" + ranks, "trainer.lanes=" + ranks, "data.micro_batches=" + ranks,
        "data.micro_batch_seconds=1", "trainer.steps=1",        "trainer.validate_every=-1"};
    const configs::Config recipe = configs::parse_config(
        test::tone_recipe(in("train.jsonl"), in("validation.jsonl"), in("output-" + ranks)),
        "recipe.toml", layers::model_families(), overrides);
    Start all{replicas};
    std::mutex mutex;
    const std::int64_t before = file_operations();
    comm::run_as_threads({.ranks = replicas}, [&](comm::Communicator& world) {
      test::CountedCommunicator counted(world);
      TrainingTask task{recipe};
      bool begun = false;
      task.stop_asked = [&] {
        if (std::exchange(begun, true)) return false;
        {
          const std::scoped_lock lock(mutex);
          all.messages += counted.counts().sent;
          all.pairs += std::ssize(counted.counts().peers);
        }
        comm::barrier(world);  // nobody reads recordings until all operations are counted
        if (world.rank() == 0) all.files = file_operations() - before;
        comm::barrier(world);
        return false;
      };
      train(task, counted, {});
    });
    return all;
  }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  const test::TemporaryFolder folder_;
};

/// A tree has ⌈log2 R⌉ peers for each of R ranks: twice as many ranks add few peers to each.
TEST_F(StartOfManyRanks, TakesMessagesAndFilesInProportion) {
  static_cast<void>(start(2));  // which measures the recordings
  const Start of_8 = start(8), of_16 = start(16), of_32 = start(32);
  for (const auto& [few, many, times] :
       {std::tuple(of_8, of_16, 2.0), std::tuple(of_16, of_32, 2.0),
        std::tuple(of_8, of_32, 4.0)}) {
    EXPECT_LE(static_cast<double>(many.messages), 1.25 * times * static_cast<double>(few.messages));
    const double peers = static_cast<double>(few.pairs) / few.ranks;  // of a rank
    EXPECT_LE(static_cast<double>(many.pairs) / many.ranks, peers + std::log2(times));
    EXPECT_LE(static_cast<double>(many.files), 1.25 * times * static_cast<double>(few.files));
  }
  RecordProperty("messages", std::to_string(of_8.messages) + ", " + std::to_string(of_16.messages) +
                                 ", " + std::to_string(of_32.messages));
  RecordProperty("pairs", std::to_string(of_8.pairs) + ", " + std::to_string(of_16.pairs) + ", " +
                              std::to_string(of_32.pairs));
  RecordProperty("files", std::to_string(of_8.files) + ", " + std::to_string(of_16.files) + ", " +
                              std::to_string(of_32.files));
}

}  // namespace
}  // namespace penstock::runtime
