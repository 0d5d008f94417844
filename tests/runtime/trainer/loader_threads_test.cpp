#include "runtime/trainer/loader_threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(LoaderThreads, AreTheCoresThatNobodyComputesOn) {
  EXPECT_EQ(spare_loaders({.cores = 16, .computing = 1, .readers = 1}), 15);
  EXPECT_EQ(spare_loaders({.cores = 96, .computing = 8, .readers = 8}), 11);  // replicas of one GPU
  EXPECT_EQ(spare_loaders({.cores = 96, .computing = 8, .readers = 1}), 16);  // stages: the bound
  EXPECT_EQ(spare_loaders({.cores = 4, .computing = 8, .readers = 2}), 1);    // too few cores
  EXPECT_EQ(spare_loaders({.cores = 4, .computing = 2, .readers = 0}), 2);
}

int own_cores() {
  cpu_set_t allowed;
  EXPECT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  return CPU_COUNT(&allowed);
}

// Ranks that are threads share their cores. Their threads and readers are added up.
TEST(LoaderThreads, CountAllRanksOnTheSameCores) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const int rank = world.rank();
    const CoreUse own{.threads = rank + 1, .reads = rank < 2};
    EXPECT_EQ(loader_threads({}, own, world),
              spare_loaders({.cores = own_cores(), .computing = 6, .readers = 2}));
  });
}

TEST(LoaderThreads, AreWhatTheRecipeSays) {
  comm::run_as_threads({.ranks = 2}, [](comm::Communicator& world) {
    const int asked = world.rank() == 0 ? 40 : 0;  // each machine has its own
    const int found = loader_threads({.loaders = asked}, {.reads = true}, world);
    EXPECT_EQ(found, asked > 0 ? asked : spare_loaders({own_cores(), 2, 2}));
  });
}

double loss_with(const std::string& loaders) {
  const test::TemporaryFolder folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  test::write_tone_corpus(in("train.jsonl"), 9, 1);
  const std::vector<std::string> overrides = {"trainer.steps=3", "trainer.device=cpu",
                                              "data.loaders=" + loaders};
  const configs::Config config =
      configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")), "recipe",
                            layers::model_families(), overrides);
  double loss = 0;
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    loss = train({config}, world, {}).last_step.loss;
  });
  return loss;
}

TEST(LoaderThreads, ChangeNoBitOfATraining) {
  const double with_one = loss_with("1");
  EXPECT_EQ(loss_with("5"), with_one);
  EXPECT_EQ(loss_with("0"), with_one);
}

}  // namespace
}  // namespace penstock::runtime
