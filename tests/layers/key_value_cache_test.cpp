#include "layers/key_value_cache.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/models/rated_layer.h"
#include "layers/models/residual_units.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

constexpr std::int64_t kWidth = 12;

std::int64_t channels_of(const Layer& layer) {
  return cache_channels(layer.plan({DType::f32, {{{7, 1}, kWidth}}}, {}), layer.name());
}

AttentionUnitOptions causal() {
  return {.name = "a",
          .width = kWidth,
          .heads = 2,
          .positions = AttentionPositions::rotary,
          .right = 0,
          .dropout = 0.1};
}

TEST(CacheChannels, AreThoseOfTheUnitsAttention) {
  EXPECT_EQ(channels_of(*attention_unit(causal())), kWidth);
  AttentionUnitOptions grouped = causal();
  grouped.kv_heads = 1;
  grouped.head_channels = 8;
  EXPECT_EQ(channels_of(*attention_unit(grouped)), 8);
  EXPECT_EQ(channels_of(*feed_forward_unit({.name = "f",
                                            .width = kWidth,
                                            .inner = 20,
                                            .activation = GateKind::swiglu,
                                            .dropout = 0.1})),
            0);
  EXPECT_EQ(channels_of(*feed_forward_unit({.name = "f", .width = kWidth, .inner = 20})), 0);
  EXPECT_EQ(channels_of(*adapter_unit({.name = "d", .width = kWidth, .inner = 5})), 0);
}

TEST(CacheChannels, AreThoseOfTheRatedLayer) {
  std::unique_ptr<Layer> unit = attention_unit(causal());
  const std::size_t count = unit->plan({DType::f32, {{{7}, kWidth}}}, {}).params.size();
  rate_layer(unit, {std::vector<double>(count, 0), false});
  EXPECT_EQ(channels_of(*unit), kWidth);
}

TEST(CacheChannels, AreRefusedByLayersThatSeeMore) {
  AttentionUnitOptions seeing = causal();
  seeing.right = 3;
  EXPECT_THROW((void)channels_of(*attention_unit(seeing)), ShapeError);
  AttentionUnitOptions relative = causal();
  relative.positions = AttentionPositions::relative;
  EXPECT_THROW((void)channels_of(*attention_unit(relative)), ShapeError);
  EXPECT_THROW((void)channels_of(*convolution_unit({.name = "c", .width = kWidth, .causal = true})),
               ShapeError);
  EXPECT_THROW(
      (void)channels_of(*convolutional_positions({.name = "p", .width = kWidth, .groups = 2})),
      ShapeError);
}

struct TwoCaches : testing::Test {
  static constexpr std::int64_t kUtterances = 3, kCapacity = 5, kChannels = 7;
  struct Owned {
    explicit Owned(std::uint64_t seed) {
      for (auto [memory, tensor] :
           {std::pair{&keys, &view.keys_UTC}, {&values, &view.values_UTC}}) {
        *tensor = {memory->data(), DType::f16, {kUtterances, kCapacity, kChannels}};
        test::assign(*tensor, test::uniform(tensor->size(), ++seed));
      }
    }
    test::GuardedMemory keys{2 * kUtterances * kCapacity * kChannels};
    test::GuardedMemory values{2 * kUtterances * kCapacity * kChannels};
    KeyValueCache view;
  };
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
  Owned from_{3}, to_{20};
};

TEST_F(TwoCaches, CopyTheRowsOfOneUtterance) {
  const auto expected = [&](const Tensor& from, const Tensor& to) {
    std::vector<double> result = test::numbers(to);
    const std::vector<double> source = test::numbers(from);
    std::copy_n(source.begin() + (2 * kCapacity + 1) * kChannels, 3 * kChannels,
                result.begin() + (1 * kCapacity + 1) * kChannels);
    return result;
  };
  const auto keys = expected(from_.view.keys_UTC, to_.view.keys_UTC);
  const auto values = expected(from_.view.values_UTC, to_.view.values_UTC);
  copy_cached(*backend_, *stream_, {from_.view, 2}, {to_.view, 1}, {1, 4});
  EXPECT_EQ(test::numbers(to_.view.keys_UTC), keys);
  EXPECT_EQ(test::numbers(to_.view.values_UTC), values);
}

TEST_F(TwoCaches, RefuseRowsThatTheyDoNotHave) {
  const auto copy = [&](std::int64_t from, std::int64_t to, std::int64_t end,
                        std::int64_t first = 0) {
    copy_cached(*backend_, *stream_, {from_.view, from}, {to_.view, to}, {first, end});
  };
  EXPECT_THROW(copy(3, 0, 1), ShapeError);
  EXPECT_THROW(copy(0, -1, 1), ShapeError);
  EXPECT_THROW(copy(0, 1, kCapacity + 1), ShapeError);
  EXPECT_THROW(copy(0, 1, 2, -1), ShapeError);
  EXPECT_THROW(copy(0, 1, 2, 3), ShapeError);
  to_.view.keys_UTC.shape = {kUtterances, kChannels, kCapacity};
  EXPECT_THROW(copy(0, 1, 1), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
