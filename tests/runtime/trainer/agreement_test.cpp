#include "runtime/trainer/agreement.h"

#include <gtest/gtest.h>

#include "comm/threads.h"
#include "layers/tensor/error.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::message_of;

/// What three ranks say of a configuration that `change` makes another on rank 2.
std::string disagreement(const std::function<void(Config&)>& change) {
  return message_of<ConfigError>([&] {
    run_as_threads({.ranks = 3}, [&](Communicator& world) {
      Config config;
      config.data.validation = "clean\n.jsonl";
      if (world.rank() == 2) change(config);
      agree_on_recipe(world, config);
    });
  });
}

TEST(AgreeOnRecipe, NamesTheKeyTheValuesAndTheRank) {
  EXPECT_EQ(disagreement([](Config&) {}), "");
  EXPECT_EQ(disagreement([](Config& c) { c.data.validation.clear(); }),
            "the ranks were started with different recipes: data.validation is \"clean\n.jsonl\" "
            "on rank 0 and \"\" on rank 2: give every rank the same recipe and overrides");
  EXPECT_NE(disagreement([](Config& c) {
              c.trainer.validate_every = 7;
            }).find("trainer.validate_every is \"0\" on rank 0 and \"7\" on rank 2"),
            std::string::npos);
}

TEST(AgreeOnRecipe, LetsMachinesDiffer) {
  EXPECT_EQ(disagreement([](Config& c) { c.trainer.threads = c.data.loaders = 3; }), "");
}

TEST(AgreeOnCorpus, NamesTheKeyAndTheRank) {
  const auto read = [](bool alike) {
    return message_of<DataError>([&] {
      run_as_threads({.ranks = 3}, [&](Communicator& world) {
        const std::uint64_t hash = world.rank() == 1 && !alike ? 6 : 5;
        agree_on_corpus(world, {"data.validation", "clean.jsonl", hash});
      });
    });
  };
  EXPECT_EQ(read(true), "");
  EXPECT_EQ(read(false),
            "clean.jsonl: rank 1 finds other utterances, texts or lengths in data.validation than "
            "rank 0: give every rank the same files");
}

}  // namespace
}  // namespace penstock
