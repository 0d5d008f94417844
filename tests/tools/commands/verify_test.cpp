#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

class Verify : public testing::Test {
 protected:
  void SetUp() override {
    const auto outcome =
        folder_.train("output", {"trainer.steps=2", "pipeline.stages=2"}, {.count = 2});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Verify, SaysWhatAWholeCheckpointHas) {
  const std::string folder = folder_.in("output/checkpoint-000000002");
  for (const int ranks : {0, 2, 3}) {
    const auto said = folder_.run({"verify", folder_.in("output")}, {.count = ranks});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_TRUE(said.out.starts_with(folder + ": step 2, ")) << said.out;
    EXPECT_TRUE(said.out.ends_with(" in 2 shards, every byte as it was written\n")) << said.out;
  }
  const auto json = nlohmann::json::parse(folder_.run({"verify", folder, "--json"}).out);
  EXPECT_EQ(json["step"], 2);
  EXPECT_EQ(json["shards"], 2);
  EXPECT_EQ(json["tensors"], folder_.record("output").tensors.size());
}

// The last byte is the optimizer's, which no evaluation reads.
TEST_F(Verify, FindsOneBitInAnyShard) {
  for (const char* shard : {"stage-0.safetensors", "stage-1.safetensors"}) {
    const std::string file = folder_.in(std::string("output/checkpoint-000000002/") + shard);
    const std::string whole = test::read_file(file);
    std::string damaged = whole;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    test::write_file(file, damaged);
    for (const char* command : {"verify", "info"}) {
      for (const int ranks : {0, 2, 3}) {
        const auto said = folder_.run({command, folder_.in("output")}, {.count = ranks});
        EXPECT_EQ(said.code, 4) << said.out;
        EXPECT_NE(said.err.find(shard), std::string::npos) << said.err;
        EXPECT_EQ(said.out, "");
      }
    }
    test::write_file(file, whole);
  }
}

// Each rank sees a copy of its own, and rank 0's is whole: what rank 1 verifies is not.
TEST_F(Verify, LooksAtAShareOnEachRank) {
  for (const char* rank : {"0", "1"}) {
    fs::create_directory(folder_.in(rank));
    fs::copy(folder_.in("output"), folder_.in(rank) + std::string("/output"),
             fs::copy_options::recursive);
  }
  for (const char* shard : {"stage-0.safetensors", "stage-1.safetensors"}) {
    const std::string file = folder_.in(std::string("1/output/checkpoint-000000002/") + shard);
    std::string damaged = test::read_file(file);
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    test::write_file(file, damaged);
  }
  for (const char* command : {"verify", "info", "info --recipe"}) {
    const auto said = folder_.run_apart(std::string(command) + " output");
    EXPECT_EQ(said.code, 4) << command << said.out;
    EXPECT_NE(said.err.find("safetensors"), std::string::npos) << said.err;
    EXPECT_EQ(said.out, "") << command;
  }
}

// Rank 1 sees nothing at that path, and alone would take it for a model's name.
TEST_F(Verify, AsksRank0WhatAPathIs) {
  for (const char* rank : {"0", "1"}) fs::create_directory(folder_.in(rank));
  fs::copy(folder_.in("output"), folder_.in("0/output"), fs::copy_options::recursive);
  const auto said = folder_.run_apart("info output --verify read");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(said.out.starts_with("checkpoint of step 2")) << said.out;
}

}  // namespace
}  // namespace penstock::tools
