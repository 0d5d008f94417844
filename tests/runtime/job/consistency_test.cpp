#include "runtime/job/consistency.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "tests/runtime/data/audio/ragged_audio.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::message_of;

/// Returns the error of three ranks where `change` makes rank 2's configuration another.
std::string disagreement(const std::function<void(configs::Config&)>& change) {
  return message_of<ConfigError>([&] {
    comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
      configs::Config config;
      config.data.validation = {{"clean\n.jsonl"}};
      if (world.rank() == 2) change(config);
      require_same_recipe(world, config);
    });
  });
}

TEST(RequireSameRecipe, NamesTheKeyTheValuesAndTheRank) {
  EXPECT_EQ(disagreement([](configs::Config&) {}), "");
  EXPECT_EQ(disagreement([](configs::Config& c) { c.data.validation.clear(); }),
            "the ranks were started with different recipes: data.validation is \"clean\n.jsonl\" "
            "on rank 0 and \"\" on rank 2: give every rank the same recipe and overrides");
  EXPECT_NE(disagreement([](configs::Config& c) {
              c.trainer.validate_every = 7;
            }).find("trainer.validate_every is \"0\" on rank 0 and \"7\" on rank 2"),
            std::string::npos);
}

TEST(RequireSameRecipe, LetsMachinesDiffer) {
  EXPECT_EQ(disagreement([](configs::Config& c) { c.trainer.threads = c.data.loaders = 3; }), "");
}

TEST(ReadAlike, TellsAllWhatTheFirstReaderFinds) {
  std::vector<int> readers;
  std::mutex guard;
  comm::run_as_threads({.ranks = 4}, [&](comm::Communicator& world) {
    const std::string told = read_alike(world, {{2, 1}, "clean.jsonl: texts"}, [&] {
      const std::lock_guard lock(guard);
      readers.push_back(world.rank());
      return std::string("a\0b", 3);
    });
    EXPECT_EQ(told, std::string("a\0b", 3));
  });
  EXPECT_EQ(readers, (std::vector<int>{2, 1}));
}

TEST(ReadAlike, NamesTheReaderThatFindsSomethingElse) {
  const std::string message = message_of<DataError>([&] {
    comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
      (void)read_alike(world, {{0, 2}, "clean.jsonl: texts"},
                       [&] { return fmt::to_string(world.rank()); });
    });
  });
  EXPECT_EQ(message,
            "clean.jsonl: texts that rank 2 finds differ from those of rank 0: give every rank the "
            "same files");
}

/// Returns the error that each of four ranks raises where ranks 2 and 3 read with `read`. None ends
/// the others.
std::vector<std::string> raised(const std::function<std::string(int rank)>& read) {
  std::vector<std::string> faults(4);
  comm::run_as_threads({.ranks = 4}, [&](comm::Communicator& world) {
    faults[world.rank()] = message_of<DataError>([&] {
      (void)read_alike(world, {{2, 3}, "clean.jsonl: texts"}, [&] { return read(world.rank()); });
    });
  });
  return faults;
}

// Ranks that all raise one error end without the abort of the job.
TEST(ReadAlike, HasAllRanksRaiseWhatAReaderMeets) {
  const std::vector<std::string> met(4, "rank 2: clean.jsonl: gone");
  EXPECT_EQ(raised([](int) -> std::string { throw DataError("clean.jsonl: gone"); }), met);
  const auto differing = raised([](int rank) { return fmt::to_string(rank); });
  EXPECT_NE(differing[0].find("rank 3 finds differ"), std::string::npos) << differing[0];
  EXPECT_EQ(differing[3], differing[0]);
}

/// Returns options of data that began at a later epoch.
StepSequenceOptions options() {
  StepSequenceOptions options;
  options.lengths = ragged_lengths(1237);
  options.data.speeds = {0.9, 1, 1.1};
  options.data.micro_batch_seconds = 40;
  options.data.micro_batches = 3;
  options.seed = 5;
  options.start = {2, 17};
  return options;
}

TEST(ShareEpoch, FormsItOnOneRankForAll) {
  const StepSequence alone(options());
  for (const int ranks : {1, 2, 3}) {
    std::array<std::int64_t, 3> formed = {};
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      StepSequence steps(options());
      share_epoch(world, steps, 2);
      const std::int64_t first = steps.options().start.step;
      for (std::int64_t step = first; step < first + steps.steps_in_epoch(2); ++step) {
        EXPECT_EQ(steps.at(step).micro_batches, alone.at(step).micro_batches) << step;
        EXPECT_EQ(steps.at(step).lanes, alone.at(step).lanes) << step;
        if (step == first) formed[world.rank()] = steps.epochs_formed();
      }
      EXPECT_EQ(steps.longest(8), alone.longest(8));
    });
    EXPECT_LE(formed[0], 1) << ranks;
    EXPECT_EQ(formed[1], 0) << ranks;
    EXPECT_EQ(formed[2], 0) << ranks;
  }
}

TEST(ShareEpoch, TakesNoBytesOfAnother) {
  StepSequence steps(options());
  const std::string bytes = steps.bytes_of(2);
  EXPECT_EQ(test::message_of<DataError>([&] { steps.take(2, bytes.substr(1)); }),
            std::to_string(bytes.size() - 1) + " bytes are not an epoch of 1237 utterances");
  EXPECT_EQ(test::message_of<DataError>([&] { steps.take(2, "short"); }),
            "5 bytes are not an epoch of 1237 utterances");
}

}  // namespace
}  // namespace penstock::runtime
