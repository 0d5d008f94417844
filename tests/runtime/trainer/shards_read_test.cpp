// Ranks read no more than they need of a checkpoint that was saved in other stages than theirs.

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/checkpoint_writer.h"
#include "tests/support/partition/even_plan.h"
#include "tests/support/system/counted_reading.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr int kSaved = 5;              // stages
constexpr std::uint64_t kPage = 4096;  // of each part that is read, as much may be read besides

configs::Config recipe_of(int stages) {
  configs::Config recipe;
  recipe.model = {.features = 41,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 150, .layers = 5}};
  recipe.trainer.device = "cpu";
  recipe.pipeline.stages = stages;
  return recipe;
}

struct StagedRank {
  StagedRank(comm::Communicator& world, int stages)
      : recipe(recipe_of(stages)),
        sequence(partition::build_model(recipe.model, 7)),
        plan(test::even_plan(sequence, stages, 1)),
        session(world, {recipe, sequence, plan, {}}),
        saving(session.backend(), session.stream(), session.grid(), session.stage(),
               {{"m", "v"}, {}}) {}

  configs::Config recipe;
  partition::LayerSequence sequence;
  partition::Plan plan;
  Session session;
  Saving saving;
};

class ShardsRead : public testing::Test {
 protected:
  ShardsRead() {
    comm::run_as_threads({.ranks = kSaved}, [this](comm::Communicator& world) {
      StagedRank rank(world, kSaved);
      CheckpointWriter writer(rank.saving, {.output = folder_.path()});
      writer.begin({});
      EXPECT_EQ(writer.wait()->fault, "");
    });
    whole_.emplace(newest(folder_.path(), [](const std::string&) {}).value());
  }
  std::string shard(const CheckpointBlock& block) const {
    return whole_->shard_path(block.shard).string();
  }
  /// Shards that hold something of what the rank would save.
  std::set<std::string> shards_of(const Saving& saving) const {
    std::set<std::string> shards;
    for (const CheckpointPiece& piece : saving.pieces())
      for (const CheckpointBlock& block : whole_->tensor(piece.name).blocks)
        if (std::max(block.begin, piece.begin) < std::min(block.end, piece.end))
          shards.insert(shard(block));
    return shards;
  }

  const test::TemporaryFolder folder_;
  std::optional<Checkpoint> whole_;
};

std::vector<std::string> opened_shards() {
  std::vector<std::string> shards;
  for (const std::string& file : test::reading().opened)
    if (file.ends_with(".safetensors")) shards.push_back(file);
  std::ranges::sort(shards);
  return shards;
}

TEST_F(ShardsRead, ARankRestoresFromItsOwnOnce) {
  for (const int stages : {3, 7})
    comm::run_as_threads({.ranks = stages}, [&](comm::Communicator& world) {
      StagedRank rank(world, stages);
      const Checkpoint checkpoint(whole_->folder(), OpenShards::as_read);
      test::start_reading();
      rank.saving.restore(checkpoint, true);
      const std::set<std::string> own = shards_of(rank.saving);
      EXPECT_EQ(opened_shards(), std::vector<std::string>(own.begin(), own.end()));
      EXPECT_LT(own.size(), std::size_t{kSaved});
      const auto pieces = rank.saving.pieces();
      EXPECT_GE(test::reading().mapped, bytes_of(pieces));
      EXPECT_LE(test::reading().mapped, bytes_of(pieces) + pieces.size() * kPage);
    });
}

TEST_F(ShardsRead, RanksVerifyEachByteOnce) {
  std::uint64_t bytes = 0, blocks = 0, largest = 0;
  for (const auto& [name, tensor] : whole_->tensors())
    for (const CheckpointBlock& block : tensor.blocks) {
      bytes += block.file_end - block.file_begin;
      largest = std::max(largest, block.file_end - block.file_begin);
      ++blocks;
    }
  for (const std::uint64_t ranks : {3, 7}) {
    std::mutex mutex;
    std::uint64_t verified = 0;
    comm::run_as_threads({.ranks = static_cast<int>(ranks)}, [&](comm::Communicator& world) {
      test::start_reading();
      (void)newest_together(world, folder_.path(), [](const std::string&) {});
      EXPECT_LE(test::reading().mapped, bytes / ranks + largest + blocks * kPage);
      EXPECT_LE(opened_shards().size(), 3u);
      const std::lock_guard lock(mutex);
      verified += test::reading().mapped;
    });
    EXPECT_GE(verified, bytes);
    EXPECT_LE(verified, bytes + blocks * kPage);
  }
}

}  // namespace
}  // namespace penstock::runtime
