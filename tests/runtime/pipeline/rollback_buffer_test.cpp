#include "runtime/pipeline/rollback_buffer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"

namespace penstock::runtime {
namespace {

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
