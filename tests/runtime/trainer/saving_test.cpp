#include "runtime/trainer/saving.h"

#include <gtest/gtest.h>

#include <cstring>

#include "comm/threads.h"
#include "layers/tensor/error.h"
#include "partition/build_chain.h"
#include "runtime/trainer/host_window.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/watched_backend.h"

namespace penstock {
namespace {

using test::WatchedBackend;

ModelConfig model() {
  ModelConfig model;
  model.features = 41;
  model.channels = 2;
  model.hidden = 420;
  model.layers = 1;
  return model;
}

Plan one_rank() {
  Plan plan;
  plan.ranks = {{0}};
  return plan;
}

StageOptions whole(const Chain& chain, std::uint64_t seed) {
  StageOptions options;
  options.last_layer = chain.layers.size();
  options.seed = seed;
  return options;
}

/// A whole model on one rank, with one parameter that is larger than a window.
struct Rank {
  Rank(DeviceKind kind, const std::filesystem::path& output, std::uint64_t seed)
      : backend(kind),
        stage(backend, *stream, grid.pipeline(), chain, whole(chain, seed)),
        saving(backend, *stream, grid, stage, Saving::Options{output, {"m", "v"}}) {}

  WatchedBackend backend;
  Chain chain = build_chain(model(), 7);
  std::unique_ptr<Stream> stream = backend.make_stream({});
  std::vector<std::unique_ptr<Communicator>> world = make_thread_communicators({.ranks = 1});
  Grid grid{*world.front(), one_rank()};
  Stage stage;
  Saving saving;
};

bool equal(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data, b.data, a.bytes()) == 0;
}

TEST(Saving, CopiesNothingOfTheHostsMemoryAndAWindowOfADevices) {
  const test::TemporaryFolder folder;
  std::vector<std::string> shards;
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) {
    Rank rank(kind, folder.path() / std::to_string(static_cast<int>(kind)), 3);
    std::size_t largest = 0;
    for (const ParameterEntry& p : rank.stage.parameters().parameters())
      largest = std::max(largest, rank.stage.parameters().weight(p).bytes());
    ASSERT_GT(largest, HostWindow::kBytes);

    rank.backend.largest_copy = 0;
    const auto saved = rank.saving.save({});
    const std::size_t window = kind == DeviceKind::cpu ? 0 : HostWindow::kBytes;
    EXPECT_EQ(rank.backend.largest_copy, window);
    shards.push_back(test::read_file(saved / "stage-0.safetensors"));

    Rank other(kind, folder.path(), 4);
    const auto& from = rank.stage.parameters();
    const auto& to = other.stage.parameters();
    const ParameterEntry& first = from.parameters().front();
    EXPECT_FALSE(equal(from.weight(first), to.weight(first)));
    other.backend.largest_copy = 0;
    other.saving.restore(Checkpoint(saved), true);
    EXPECT_EQ(other.backend.largest_copy, window);
    for (const ParameterEntry& p : from.parameters()) {
      EXPECT_TRUE(equal(from.weight(p), to.weight(p))) << p.decl.name;
      EXPECT_TRUE(equal(from.slot(p, 1), to.slot(p, 1))) << p.decl.name;
    }
  }
  EXPECT_TRUE(shards[0] == shards[1]);
}

TEST(Saving, RefusesAnotherModelsTensors) {
  const test::TemporaryFolder folder;
  Rank rank(DeviceKind::cpu, folder.path(), 3);
  const Checkpoint saved(rank.saving.save({}));
  EXPECT_THROW(saved.expect("conv1.weight", DType::f64, saved.tensor("conv1.weight").shape),
               CheckpointError);
  EXPECT_THROW(saved.expect("conv1.weight", DType::f32, {1}), CheckpointError);
  EXPECT_THROW(saved.expect("conv9.weight", DType::f32, {1}), CheckpointError);
}

}  // namespace
}  // namespace penstock
