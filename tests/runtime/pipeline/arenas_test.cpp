#include "runtime/pipeline/arenas.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/pipeline/parameter_store.h"

namespace penstock::runtime {
namespace {

std::vector<layers::LayerPlan> plans_of(std::vector<layers::Shape> shapes) {
  std::vector<layers::LayerPlan> plans;
  for (const layers::Shape& shape : shapes) {
    layers::LayerPlan& plan = plans.emplace_back();
    plan.params.push_back({fmt::format("p{}", plans.size()), shape, {}});
  }
  return plans;
}

void fill_gradients(const ParameterStore& store) {
  for (const partition::ParameterEntry& p : store.parameters())
    for (std::int64_t i = 0; i < p.elements; ++i)
      store.gradient(p, 0).as<float>()[i] = std::sin(0.1f * static_cast<float>(i)) + 0.5f;
}

class Table : public testing::Test {
 protected:
  ParameterStore store_of(const std::vector<layers::LayerPlan>& plans, std::int64_t first_block,
                          layers::DType compute = layers::DType::f32) {
    StoreOptions options;
    options.kinds.compute = compute;
    std::vector<std::int64_t> first_blocks = partition::norm_blocks_before(plans);
    for (std::int64_t& first : first_blocks) first += first_block;
    return ParameterStore(*backend_, *stream_, plans, first_blocks, options, 1);
  }

  std::unique_ptr<layers::Backend> backend_ = layers::make_cpu_backend();
  std::unique_ptr<layers::Stream> stream_ = backend_->make_stream();
};

TEST_F(Table, NormIsTheSameForAnyCut) {
  const auto whole = plans_of({{70001}, {3, 5}, {131072}});
  std::vector<double> sums(5), of_stages(5);
  const auto add = [&](const ParameterStore& store, std::vector<double>& to) {
    fill_gradients(store);
    backend_->run(*stream_,
                  layers::SquaredSums{store.table().all(), store.gradient_arena(), to.data()});
  };
  const ParameterStore one = store_of(whole, 0);
  add(one, sums);
  add(store_of({whole[0]}, 0), of_stages);
  add(store_of({whole[1], whole[2]}, 2), of_stages);
  EXPECT_EQ(of_stages, sums);

  double found = 0, expected = 0;
  for (double sum : sums) found += sum;
  for (const partition::ParameterEntry& p : one.parameters())
    for (std::int64_t i = 0; i < p.elements; ++i)
      expected += std::pow(static_cast<double>(one.gradient(p, 0).as<float>()[i]), 2);
  EXPECT_NEAR(found, expected, 1e-10 * expected);
}

TEST_F(Table, PointsToEveryPieceInEveryArena) {
  auto plans = plans_of({{70001}, {3, 5}, {7}});
  plans[1].params[0].full_precision = true;
  const ParameterStore store = store_of(plans, 10, layers::DType::f16);
  ASSERT_EQ(store.table().all().count, 4);
  for (std::size_t i = 0; i < store.owned().size(); ++i) {
    const partition::ParameterPiece& piece = store.owned()[i];
    const layers::ArenaBlocks blocks = store.table().piece(i);
    ASSERT_EQ(blocks.count, piece.blocks());
    std::int64_t done = 0;
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      const layers::ArenaBlock& block = blocks.first[b];
      const auto points = [&](const layers::Tensor& arena, std::int64_t at,
                              const layers::Tensor& to) {
        EXPECT_EQ(
            static_cast<std::byte*>(arena.data) + at * std::int64_t(layers::size_of(arena.dtype)),
            static_cast<std::byte*>(to.data) + done * std::int64_t(layers::size_of(to.dtype)));
      };
      EXPECT_EQ(block.place, piece.first_block + b);
      points(store.gradient_arena(), block.gradient, store.gradient(piece, 0));
      points(store.weight_arena(), block.weight, store.weight(piece));
      points(store.slot_arena(1), block.slot, store.slot(piece, 1));
      if (i == 1)
        EXPECT_EQ(block.rounded, -1);
      else
        points(store.copy_arena(), block.rounded, store.copy(piece));
      done += block.count;
    }
    EXPECT_EQ(done, piece.count);
  }
}

TEST_F(Table, PartsByRateFollowEachOther) {
  auto plans = plans_of({{7}, {70001}, {3, 5}, {11}, {13}});
  EXPECT_EQ(store_of(plans, 0).table().by_rate().size(), 1u);
  plans[0].params[0].rate = plans[1].params[0].rate = 0.5;
  plans[3].params[0].rate = 0;
  const ParameterStore store = store_of(plans, 0);
  const std::vector<RatedBlocks> parts = store.table().by_rate();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].rate, 0.5);
  EXPECT_EQ(parts[0].blocks.count, 3);
  EXPECT_EQ(parts[1].rate, 1);
  EXPECT_EQ(parts[1].blocks.first, store.table().piece(2).first);
  EXPECT_EQ(parts[1].blocks.count, 2);  // the frozen one between them is left out
  EXPECT_EQ(store.table().all().count, 5);
  EXPECT_TRUE(store_of({}, 0).table().by_rate().empty());
}

}  // namespace
}  // namespace penstock::runtime
