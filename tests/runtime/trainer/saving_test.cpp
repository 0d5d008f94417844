#include "runtime/trainer/saving.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.h"
#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/devices/host_window.h"
#include "runtime/trainer/checkpoint_writer.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/layers/watched_backend.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::WatchedBackend;

configs::ModelConfig model() {
  return {.features = 41,
          .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 420, .layers = 1}};
}

partition::Plan one_rank() {
  partition::Plan plan;
  plan.ranks = {{0}};
  return plan;
}

StageOptions whole(const partition::LayerSequence& sequence, std::uint64_t seed) {
  StageOptions options;
  options.cut = {0, sequence.size()};
  options.seed = seed;
  return options;
}

/// A checkpoint of what a rank has, while nothing goes on besides.
std::filesystem::path save(const Saving& saving, const std::filesystem::path& output) {
  CheckpointWriter writer(saving, {.output = output});
  writer.begin({});
  const std::optional<SaveOutcome> outcome = writer.wait();
  EXPECT_EQ(outcome->fault, "");
  return outcome->folder;
}

/// A whole model on one rank, with one parameter that is larger than a window.
struct Rank {
  Rank(layers::DeviceKind kind, const std::filesystem::path& output, std::uint64_t seed,
       int labels = 7)
      : backend(kind),
        sequence(partition::build_model(model(), labels)),
        stage(backend, *stream, grid.pipeline(), sequence, whole(sequence, seed)),
        saving(backend, *stream, grid, stage, {{"m", "v"}, {}}),
        output(output) {}
  std::filesystem::path save() const { return runtime::save(saving, output); }

  WatchedBackend backend;
  partition::LayerSequence sequence;
  std::unique_ptr<layers::Stream> stream = backend.make_stream({});
  std::vector<std::unique_ptr<comm::Communicator>> world =
      comm::make_thread_communicators({.ranks = 1});
  RankGrid grid{*world.front(), one_rank()};
  Stage stage;
  Saving saving;
  std::filesystem::path output;
};

bool equal(const layers::Tensor& a, const layers::Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data, b.data, a.bytes()) == 0;
}

TEST(Saving, CopiesOnlyAWindowOfDeviceMemory) {
  const test::TemporaryFolder folder;
  std::vector<std::string> shards;
  for (const layers::DeviceKind kind : {layers::DeviceKind::cpu, layers::DeviceKind::cuda}) {
    Rank rank(kind, folder.path() / fmt::to_string(static_cast<int>(kind)), 3);
    std::size_t largest = 0;
    for (const partition::ParameterEntry& p : rank.stage.parameters().parameters())
      largest = std::max(largest, rank.stage.parameters().weight(p).bytes());
    ASSERT_GT(largest, HostWindow::kBytes);

    rank.backend.largest_copy = 0;
    const auto saved = rank.save();
    const std::size_t window = kind == layers::DeviceKind::cpu ? 0 : HostWindow::kBytes;
    EXPECT_EQ(rank.backend.largest_copy, window);
    shards.push_back(test::read_file(saved / "stage-0.safetensors"));

    Rank other(kind, folder.path(), 4);
    const auto& from = rank.stage.parameters();
    const auto& to = other.stage.parameters();
    const partition::ParameterEntry& first = from.parameters().front();
    EXPECT_FALSE(equal(from.weight(first), to.weight(first)));
    other.backend.largest_copy = 0;
    other.saving.restore(Checkpoint(saved), true);
    EXPECT_EQ(other.backend.largest_copy, window);
    for (const partition::ParameterEntry& p : from.parameters()) {
      const partition::ParameterPiece& piece = from.owned()[static_cast<std::size_t>(p.index)];
      EXPECT_TRUE(equal(from.weight(p), to.weight(p))) << p.decl.name;
      EXPECT_TRUE(equal(from.slot(piece, 1), to.slot(piece, 1))) << p.decl.name;
    }
  }
  EXPECT_TRUE(shards[0] == shards[1]);
}

// The head is larger than a window, which ends within a row.
TEST(Saving, KeptRowsCrossWindows) {
  constexpr int kRows = 2601, kColumns = 420;
  static_assert(HostWindow::kBytes % (kColumns * sizeof(float)) != 0);
  static_assert(HostWindow::kBytes < kRows * kColumns * sizeof(float));
  const test::TemporaryFolder folder;
  const Rank source(layers::DeviceKind::cpu, folder.path(), 3, kRows);
  const Checkpoint saved(source.save());
  StartingWeights weights{.checkpoint = saved, .kept = {.parameters = {"output.weight"}}};
  for (int row = 0; row < kRows; ++row)
    weights.kept.sources.push_back(row % 3 == 0 ? KeptRows::kAnew : (row * 7) % kRows);
  const auto head = [](const Rank& rank) {
    const ParameterStore& store = rank.stage.parameters();
    return store.weight(store.parameters().back()).as<float>();
  };
  ASSERT_EQ(source.stage.parameters().parameters().back().decl.name, "output.weight");
  for (const layers::DeviceKind kind : {layers::DeviceKind::cpu, layers::DeviceKind::cuda}) {
    const Rank random(layers::DeviceKind::cpu, folder.path(), 4, kRows);
    Rank rank(kind, folder.path(), 5, kRows);
    rank.saving.start_from(weights, 4);
    for (int row = 0; row < kRows; ++row) {
      const std::int64_t kept = weights.kept.sources[static_cast<std::size_t>(row)];
      const float* expected =
          kept == KeptRows::kAnew ? head(random) + row * kColumns : head(source) + kept * kColumns;
      ASSERT_EQ(std::memcmp(head(rank) + row * kColumns, expected, kColumns * sizeof(float)), 0)
          << row;
    }
  }
}

/// Writes every number that the rank owns, from its name and place; or expects it.
void visit_owned(const ParameterStore& store, const std::function<void(float&, float)>& visit) {
  for (const partition::ParameterPiece& piece : store.owned())
    for (int which = 0; which < 3; ++which) {
      const layers::Tensor tensor = which == 2 ? store.weight(piece) : store.slot(piece, which);
      float* values = tensor.as<float>();
      for (std::int64_t i = 0; i < piece.count; ++i)
        visit(values[i], static_cast<float>(((piece.first + i) * 3 + which) % 10007) +
                             static_cast<float>(piece.parameter) * 20000);
    }
}

/// The same model on `replicas` ranks that share its update, in halves.
void on_shares(int replicas, const std::function<void(ParameterStore&, Saving&)>& body,
               partition::SlotFormat format = partition::SlotFormat::full) {
  comm::run_as_threads({.ranks = replicas}, [&](comm::Communicator& world) {
    WatchedBackend backend;
    const auto stream = backend.make_stream({});
    partition::Plan plan;
    plan.ranks = partition::neighbouring_stages(1, replicas);
    const RankGrid grid(world, plan);
    const partition::LayerSequence sequence = partition::build_model(model(), 7);
    StageOptions options = whole(sequence, 3);
    options.sizes.compute = layers::DType::f16;
    options.store.kinds.sharing = {replicas};
    options.store.kinds.slots = format;
    options.store.replica = grid.here().replica;
    Stage stage(backend, *stream, grid.pipeline(), sequence, options);
    Saving saving(backend, *stream, grid, stage, {{"m", "v"}, {}});
    body(stage.parameters(), saving);
  });
}

TEST(Saving, SharesReadAlikeOnAnyNumberOfReplicas) {
  for (const int from : {1, 3}) {
    const test::TemporaryFolder folder;
    on_shares(from, [&](ParameterStore& store, Saving& saving) {
      visit_owned(store, [](float& value, float expected) { value = expected; });
      save(saving, folder.path());
    });
    const Checkpoint saved = open_checkpoint(folder.path());
    EXPECT_EQ(saved.shard_count(), static_cast<std::size_t>(from));
    for (const int to : {1, 2, 3})
      on_shares(to, [&](ParameterStore& store, Saving& saving) {
        saving.restore(saved, true);
        std::int64_t wrong = 0;
        visit_owned(store, [&](float& value, float expected) { wrong += value != expected; });
        EXPECT_EQ(wrong, 0) << "from " << from << " replicas to " << to;
        const layers::Tensor halves = store.params(0).weights[0];
        EXPECT_EQ(layers::to_float(halves.as<layers::Half>()[1]),
                  layers::to_float(layers::to_half(3 + 2)));
      });
  }
}

/// The same with slots in codes.
void visit_coded(const ParameterStore& store, const std::function<void(double&, double)>& visit) {
  for (const partition::ParameterPiece& piece : store.owned())
    for (int slot = 0; slot < 2; ++slot) {
      const auto visit_all = [&](const layers::Tensor& tensor, std::int64_t first, int modulus) {
        std::vector<double> values = test::numbers(tensor);
        for (std::size_t i = 0; i < values.size(); ++i)
          visit(values[i], static_cast<double>((first + static_cast<std::int64_t>(i) + slot +
                                                static_cast<std::int64_t>(piece.parameter)) %
                                               modulus));
        test::assign(tensor, values);
      };
      visit_all(store.slot(piece, slot), piece.first, 251);
      visit_all(store.scales(piece, slot), piece.first / layers::kCodeBlock, 9973);
    }
}

TEST(Saving, CodesReadAlikeOnAnyNumberOfReplicas) {
  for (const int from : {1, 3}) {
    const test::TemporaryFolder folder;
    on_shares(
        from,
        [&](ParameterStore& store, Saving& saving) {
          visit_coded(store, [](double& value, double expected) { value = expected; });
          save(saving, folder.path());
        },
        partition::SlotFormat::codes);
    const Checkpoint saved = open_checkpoint(folder.path());
    EXPECT_EQ(saved.tensor("optimizer.m/rnn1.weight").dtype, layers::DType::u8);
    EXPECT_EQ(saved.tensor("optimizer.m.scales/rnn1.weight").dtype, layers::DType::f32);
    for (const int to : {1, 2, 3})
      on_shares(
          to,
          [&](ParameterStore& store, Saving& saving) {
            saving.restore(saved, true);
            std::int64_t wrong = 0;
            visit_coded(store, [&](double& value, double expected) { wrong += value != expected; });
            EXPECT_EQ(wrong, 0) << "from " << from << " replicas to " << to;
          },
          partition::SlotFormat::codes);
  }
}

TEST(Saving, NeedsTheBytesThatSlotsHave) {
  const auto bytes = [](partition::SlotFormat format, int averages = 0) {
    return checkpoint_bytes({.trained = 1000000}, {.of_elements = 2, .averages = averages},
                            format) -
           (1 << 20);
  };
  EXPECT_EQ(bytes(partition::SlotFormat::full), 12000000u);
  EXPECT_EQ(bytes(partition::SlotFormat::bf16), 8000000u);
  EXPECT_EQ(bytes(partition::SlotFormat::codes), 6000000u + 2 * 4 * 3907);
  EXPECT_EQ(bytes(partition::SlotFormat::bf16, 1), 12000000u);
}

TEST(Saving, RejectsAnotherModelsTensors) {
  const test::TemporaryFolder folder;
  Rank rank(layers::DeviceKind::cpu, folder.path(), 3);
  const Checkpoint saved(rank.save());
  EXPECT_THROW(saved.expect("conv1.weight", layers::DType::f64, saved.tensor("conv1.weight").shape),
               CheckpointError);
  EXPECT_THROW(saved.expect("conv1.weight", layers::DType::f32, {1}), CheckpointError);
  EXPECT_THROW(saved.expect("conv9.weight", layers::DType::f32, {1}), CheckpointError);
}

}  // namespace
}  // namespace penstock::runtime
