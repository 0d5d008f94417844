#include "runtime/trainer/agreement.h"

#include <gtest/gtest.h>

#include <mutex>

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

TEST(ReadAlike, TellsAllWhatTheFirstReaderFinds) {
  std::vector<int> readers;
  std::mutex guard;
  run_as_threads({.ranks = 4}, [&](Communicator& world) {
    const std::string told = read_alike(world, {{2, 1}, "clean.jsonl: texts"}, [&](bool first) {
      const std::lock_guard lock(guard);
      EXPECT_EQ(first, readers.empty());
      readers.push_back(world.rank());
      return std::string("a\0b", 3);
    });
    EXPECT_EQ(told, std::string("a\0b", 3));
  });
  EXPECT_EQ(readers, (std::vector<int>{2, 1}));
}

TEST(ReadAlike, NamesTheReaderThatFindsSomethingElse) {
  const std::string message = message_of<DataError>([&] {
    run_as_threads({.ranks = 3}, [&](Communicator& world) {
      read_alike(world, {{0, 2}, "clean.jsonl: texts"},
                 [&](bool) { return std::to_string(world.rank()); });
    });
  });
  EXPECT_EQ(message,
            "clean.jsonl: texts that rank 2 finds differ from those of rank 0: give every rank the "
            "same files");
}

}  // namespace
}  // namespace penstock
