#include "runtime/pipeline/parameter_store.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/bit_reversal.h"
#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "tests/support/layers/tensors.h"

namespace penstock::runtime {
namespace {

using Kind = layers::Initialiser::Kind;

std::vector<layers::LayerPlan> two_layers() {
  std::vector<layers::LayerPlan> plans(2);
  plans[0].params = {{"a.weight", {3, 5}, {Kind::uniform, 0.5}},
                     {"a.bias", {3}, {Kind::constant, 2}}};
  plans[0].state = {{"a.mean", {7}, 1}};
  plans[1].params = {{"b.weight", {11}, {Kind::uniform, 0.25}}};
  return plans;
}

class Store : public testing::Test {
 protected:
  std::unique_ptr<layers::Backend> backend_ = layers::make_cpu_backend();
  std::unique_ptr<layers::Stream> stream_ = backend_->make_stream();

  ParameterStore make(const std::vector<layers::LayerPlan>& plans, StoreOptions options = {}) {
    return ParameterStore(*backend_, *stream_, plans, {}, options, 3);
  }
};

TEST_F(Store, EveryTensorStartsOnItsBoundary) {
  const ParameterStore store = make(two_layers(), {.lanes = 2, .slots = {.of_elements = 1}});
  for (const partition::ParameterPiece& p : store.owned())
    for (const layers::Tensor& t :
         {store.weight(p), store.gradient(p, 0), store.gradient(p, 1), store.slot(p, 0)})
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data) % layers::kAlignment, 0u) << p.parameter;
  EXPECT_EQ(store.element_count(), 15 + 3 + 11);
  EXPECT_EQ(store.gradient_arena(1).size(),
            layers::aligned(15 * 4) + layers::aligned(3 * 4) + layers::aligned(11 * 4));
}

TEST_F(Store, StartsFromSeedAndNameWhateverTheStage) {
  const ParameterStore whole = make(two_layers());
  const ParameterStore back = make({two_layers()[1]});
  const float* expected = whole.weight(whole.parameters()[2]).as<float>();
  const float* found = back.weight(back.parameters()[0]).as<float>();
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(found[i], expected[i]);
    EXPECT_LE(std::abs(found[i]), 0.25f);
  }
  EXPECT_NE(found[0], found[1]);
  EXPECT_EQ(whole.weight(whole.parameters()[1]).as<float>()[2], 2);
  EXPECT_EQ(whole.state(0).as<float>()[6], 1);
}

TEST_F(Store, GivesEachLayerItsViews) {
  const ParameterStore store = make(two_layers(), {.lanes = 2});
  EXPECT_EQ(store.params(0).weights.size(), 2u);
  EXPECT_EQ(store.params(0).state.size(), 1u);
  EXPECT_EQ(store.params(1).weights[0].data, store.weight(store.parameters()[2]).data);
  EXPECT_EQ(store.grads(1, 1)[0].data, store.gradient(store.parameters()[2], 1).data);
  EXPECT_EQ(store.arena_offset(1), store.parameters()[2].offset);
}

/// A matrix of two blocks and a bit, and a scale that layers read in full precision.
std::vector<layers::LayerPlan> large_layer() {
  std::vector<layers::LayerPlan> plans(1);
  plans[0].params = {{"weight", {3, 45001}, {Kind::uniform, 0.5}},
                     {"scale", {5}, {Kind::uniform, 0.5}, true}};
  return plans;
}

std::vector<float> values_of(const layers::Tensor& tensor) {
  const float* data = tensor.as<float>();
  return {data, data + tensor.size()};
}

TEST_F(Store, ShardedReplicasHoldTheirPartsAndReadAll) {
  const ParameterStore alone = make(large_layer(), {.kinds = {.compute = layers::DType::f16}});
  const std::vector<float> expected = values_of(alone.weight(alone.parameters()[0]));
  std::vector<float> found;
  for (const int replica : bit_reversed(3)) {  // as their parts lie
    const ParameterStore store =
        make(large_layer(), {.slots = {.of_elements = 1},
                             .kinds = {.compute = layers::DType::f16, .sharing = {.replicas = 3}},
                             .replica = replica});
    const partition::ParameterEntry &weight = store.parameters()[0], &scale = store.parameters()[1];
    for (const partition::ParameterPiece& piece : store.owned()) {
      EXPECT_EQ(store.slot(piece, 0).size(), piece.count);
      if (piece.parameter == 1) continue;
      const std::vector<float> part = values_of(store.weight(piece));
      found.insert(found.end(), part.begin(), part.end());
    }
    EXPECT_THROW(store.weight(weight), ShapeError);
    EXPECT_EQ(values_of(store.weight(scale)), values_of(alone.weight(alone.parameters()[1])));
    const layers::Tensor halves = store.params(0).weights[0], all = alone.params(0).weights[0];
    EXPECT_EQ(std::memcmp(halves.data, all.data, all.bytes()), 0) << replica;
    EXPECT_EQ(store.params(0).weights[1].data, store.weight(scale).data);
  }
  EXPECT_EQ(found, expected);
}

/// The first layer is frozen, and a bias of the second.
std::vector<layers::LayerPlan> frozen_layers() {
  std::vector<layers::LayerPlan> plans = two_layers();
  for (layers::ParamDecl& p : plans[0].params) {
    p.rate = 0;
    p.summed = false;
  }
  plans[1].params.push_back({"b.bias", {5}, {Kind::uniform, 0.5}, false, 0});
  plans[1].params.push_back({"b.scale", {3}, {Kind::uniform, 0.5}, true, 0});
  return plans;
}

TEST_F(Store, FrozenParametersHaveNeitherSlotsNorSums) {
  const ParameterStore store = make(frozen_layers(), {.slots = {.of_elements = 2}});
  const std::size_t of_layer = layers::aligned(11 * 4) + layers::aligned(5 * 4) +
                               layers::aligned(3 * 4);  // that has a trained parameter
  EXPECT_EQ(store.gradient_arena(0).size(), of_layer);
  EXPECT_EQ(store.arena_offset(0), 0u);
  EXPECT_EQ(store.gradient(store.parameters()[0], 0).data, nullptr);
  ASSERT_EQ(store.owned().size(), 1u);
  EXPECT_EQ(store.owned()[0].parameter, 2u);
  EXPECT_EQ(store.slot_arena(1).bytes(), layers::aligned(11 * 4));
  EXPECT_EQ(store.layout().masters, of_layer + layers::aligned(15 * 4) + layers::aligned(3 * 4));
  const auto changed = store.updated_arenas();
  ASSERT_EQ(changed.size(), 3u);
  EXPECT_EQ(changed[0].size(), of_layer);
  EXPECT_EQ(store.element_count(), 15 + 3 + 11 + 5 + 3);
}

TEST_F(Store, FrozenPartsInHalvesHaveNoMasters) {
  const ParameterStore full = make(frozen_layers(), {});
  for (const layers::DType compute : {layers::DType::f16, layers::DType::bf16}) {
    const ParameterStore store = make(frozen_layers(), {.kinds = {.compute = compute}});
    const std::size_t of_layer =
        layers::aligned(11 * 4) + layers::aligned(5 * 4) + layers::aligned(3 * 4);
    EXPECT_EQ(store.layout().masters, of_layer);
    EXPECT_EQ(store.layout().unused_masters, layers::aligned(5 * 4));
    for (const std::size_t i : {0, 3}) {
      const partition::ParameterEntry& p = store.parameters()[i];
      const layers::Tensor value = store.weight(p);
      EXPECT_EQ(value.dtype, compute) << p.decl.name;
      layers::Tensor rounded{nullptr, compute, value.shape};
      const layers::Buffer memory = layers::host_buffer(rounded.bytes());
      rounded.data = memory.data();
      layers::round_floats(
          {full.weight(full.parameters()[i]).as<float>(), static_cast<std::size_t>(value.size())},
          compute, {memory.data(), rounded.bytes()});
      EXPECT_EQ(test::numbers(value), test::numbers(rounded)) << p.decl.name;
    }
  }
}

TEST_F(Store, FrozenParametersAreWholeOnEveryReplica) {
  for (const layers::DType compute : {layers::DType::f32, layers::DType::f16}) {
    const ParameterStore alone = make(frozen_layers(), {.kinds = {.compute = compute}});
    for (int replica = 0; replica < 3; ++replica) {
      const ParameterStore store =
          make(frozen_layers(), {.slots = {.of_elements = 1},
                                 .kinds = {.compute = compute, .sharing = {.replicas = 3}},
                                 .replica = replica});
      for (const std::size_t i : {0, 1, 3, 4}) {
        const partition::ParameterEntry &p = store.parameters()[i], &other = alone.parameters()[i];
        EXPECT_EQ(test::numbers(store.weight(p)), test::numbers(alone.weight(other)))
            << p.decl.name;
        EXPECT_EQ(store.loading(p).data, store.weight(p).data) << p.decl.name;
      }
      for (const std::size_t layer : {0, 1})
        for (std::size_t i = 0; i < store.params(layer).weights.size(); ++i) {
          const layers::Tensor read = store.params(layer).weights[i];
          const layers::Tensor expected = alone.params(layer).weights[i];
          EXPECT_EQ(read.dtype, expected.dtype);
          EXPECT_EQ(std::memcmp(read.data, expected.data, expected.bytes()), 0);
        }
      const SharedArena shared = store.shared_arena();
      for (const auto& [begin, end] : shared.of_replicas[replica])
        EXPECT_LE(end, compute == layers::DType::f32 ? store.layout().arena
                                                     : store.layout().changing_copies);
    }
  }
}

std::vector<char> bytes_of(const ParameterStore& store) {
  std::vector<char> bytes;
  for (const auto& arena : store.updated_arenas())
    bytes.insert(bytes.end(), reinterpret_cast<const char*>(arena.data()),
                 reinterpret_cast<const char*>(arena.data()) + arena.size());
  return bytes;
}

TEST(RollbackBuffer, RestoresAllThatUpdatesChange) {
  const configs::ModelConfig model{
      .features = 11, .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 5}};
  const partition::LayerSequence sequence = partition::build_model(model, 7);
  for (const layers::DType compute : {layers::DType::f32, layers::DType::f16}) {
    const auto backend = layers::make_cpu_backend();
    const auto stream = backend->make_stream();
    const auto plans = partition::plan_layers(sequence, std::vector<std::int64_t>{31},
                                              {layers::DeviceKind::cpu, compute});
    StoreOptions options{.slots = {.of_elements = 2, .of_parameters = 1}};
    options.kinds.compute = compute;
    const ParameterStore store(*backend, *stream, plans, {}, options, 3);
    const std::vector<char> before = bytes_of(store);
    const std::size_t elements = static_cast<std::size_t>(store.element_count());
    EXPECT_GE(before.size(), 3 * sizeof(float) * elements);  // masters and two slots
    RollbackBuffer buffer(*backend, store);
    buffer.take(*stream);
    for (const auto& arena : store.updated_arenas()) std::memset(arena.data(), 0x5a, arena.size());
    EXPECT_NE(bytes_of(store), before);
    buffer.restore(*stream);
    EXPECT_EQ(bytes_of(store), before);
  }
}

TEST(RollbackBuffer, HoldsCodesAndTheirScales) {
  const auto backend = layers::make_cpu_backend();
  const auto stream = backend->make_stream();
  std::vector<layers::LayerPlan> plans(1);
  plans[0].params = {{"a", {300}, {}}};
  StoreOptions options{.slots = {.of_elements = 2}};
  options.kinds.slots = partition::SlotFormat::codes;
  const ParameterStore store(*backend, *stream, plans, {}, options, 3);
  EXPECT_EQ(bytes_of(store).size(),
            store.weight_arena().bytes() + 2 * (512 + layers::aligned(2 * sizeof(float))));
}

}  // namespace
}  // namespace penstock::runtime
