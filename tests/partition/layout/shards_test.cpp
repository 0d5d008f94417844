#include "partition/layout/shards.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/bit_reversal.h"
#include "layers/tensor/parameter_blocks.h"
#include "partition/layout/parameter_layout.h"

namespace penstock::partition {
namespace {

/// Layers with two parameters each, of these numbers of elements; the second in full precision.
std::vector<layers::LayerPlan> layers_of(const std::vector<std::int64_t>& sizes) {
  std::vector<layers::LayerPlan> layers;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i % 2 == 0) layers.emplace_back();
    layers::ParamDecl decl{"p" + std::to_string(i), {sizes[i]}, {}};
    decl.full_precision = i % 2 == 1;
    layers.back().params.push_back(decl);
  }
  return layers;
}

const std::vector<std::int64_t> kRagged = {
    5 * layers::kNormBlock + 17, 1,    3, layers::kNormBlock, 2 * layers::kNormBlock - 1,
    9 * layers::kNormBlock + 1,  1000, 31};

std::int64_t elements(const ParameterLayout& layout) {
  std::int64_t count = 0;
  for (const ParameterPiece& piece : layout.owned) count += piece.count;
  return count;
}

TEST(Shards, CoverEveryParameterOnceInWholeBlocks) {
  for (const int replicas : {2, 3, 7, 64})
    for (const std::int64_t bucket : {4096, 3 << 18, 1 << 30}) {
      std::vector<std::vector<ParameterPiece>> of_parameter(kRagged.size());
      for (int replica = 0; replica < replicas; ++replica)
        for (const ParameterPiece& piece :
             lay_out_parameters(layers_of(kRagged), {.sharing = {replicas, bucket}}, replica).owned)
          of_parameter[piece.parameter].push_back(piece);
      for (std::size_t p = 0; p < kRagged.size(); ++p) {
        auto& pieces = of_parameter[p];
        std::ranges::sort(pieces, {}, &ParameterPiece::first);
        std::int64_t reached = 0;
        for (const ParameterPiece& piece : pieces) {
          EXPECT_EQ(piece.first, reached);
          EXPECT_EQ(piece.first % layers::kNormBlock, 0);
          EXPECT_EQ(piece.first_block, pieces.front().first_block + reached / layers::kNormBlock);
          reached += piece.count;
        }
        EXPECT_EQ(reached, kRagged[p]) << replicas << " replicas, buckets of " << bucket;
      }
    }
}

TEST(Shards, DifferByFewBlocks) {
  std::mt19937 random(3);
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 60; ++i) sizes.push_back(1 + static_cast<std::int64_t>(random() % 2000000));
  for (const int replicas : {2, 3, 8})
    for (const std::int64_t bucket : {4096, 4 << 20, 64 << 20}) {
      std::vector<std::int64_t> owned;
      for (int replica = 0; replica < replicas; ++replica)
        owned.push_back(elements(
            lay_out_parameters(layers_of(sizes), {.sharing = {replicas, bucket}}, replica)));
      const auto [min, max] = std::ranges::minmax(owned);
      EXPECT_LE(max - min, 2 * layers::kNormBlock)
          << replicas << " replicas, buckets of " << bucket;
    }
}

TEST(Shards, FillBucketsWithBlocks) {
  const Shards shards = share_out(layers_of({3 * layers::kNormBlock, 16}), layers::DType::f32,
                                  {.replicas = 2, .bucket_bytes = 2 * layers::kNormBlock * 4});
  EXPECT_EQ(shards.bucket_ends,
            (std::vector<std::int64_t>{2 * layers::kNormBlock, 3 * layers::kNormBlock + 16}));
  EXPECT_EQ(shards.range_ends[0],
            (std::vector<std::int64_t>{layers::kNormBlock, 2 * layers::kNormBlock}));
}

TEST(Shards, LeaveSomeReplicasNothingWhereBlocksAreFew) {
  int idle = 0;
  for (int replica = 0; replica < 5; ++replica)
    idle += lay_out_parameters(layers_of({40, 50}), {.sharing = {.replicas = 5}}, replica)
                .owned.empty();
  EXPECT_EQ(idle, 3);
}

TEST(ParameterLayout, ShardsMastersOnlyInHalfPrecision) {
  const std::vector<layers::LayerPlan> layers = layers_of(kRagged);
  const ParameterLayout alone = lay_out_parameters(layers, {.compute = layers::DType::f16}, 0);
  EXPECT_EQ(alone.masters, alone.arena);
  std::size_t masters = 0, slots = 0, padding = kRagged.size() * layers::kAlignment;
  for (int replica = 0; replica < 3; ++replica) {
    const ParameterLayout whole = lay_out_parameters(layers, {.sharing = {3}}, replica);
    EXPECT_EQ(whole.masters, alone.arena);
    EXPECT_EQ(whole.copies, 0u);
    const ParameterLayout parts =
        lay_out_parameters(layers, {.compute = layers::DType::f16, .sharing = {3}}, replica);
    EXPECT_EQ(parts.slot, whole.slot);
    EXPECT_LE(parts.masters, parts.slot);
    EXPECT_GT(parts.copies, alone.copies);  // what is read in full precision lies there too
    EXPECT_LE(parts.copies,
              alone.copies + (kRagged[1] + kRagged[3] + kRagged[5] + 31) * 4 + padding);
    masters += parts.masters;
    slots += parts.slot;
  }
  EXPECT_EQ(slots, alone.arena);
  EXPECT_LT(masters, alone.arena);
}

TEST(ParameterLayout, KeepsSlotsInFewerBytes) {
  const std::vector<layers::LayerPlan> layers = layers_of(kRagged);
  for (int replica = 0; replica < 3; ++replica) {
    const auto layout = [&](SlotFormat slots) {
      return lay_out_parameters(layers, {.sharing = {3, 1 << 20}, .slots = slots}, replica);
    };
    const ParameterLayout full = layout(SlotFormat::full), halves = layout(SlotFormat::bf16),
                          codes = layout(SlotFormat::codes);
    std::size_t of_halves = 0, of_codes = 0;
    for (std::size_t i = 0; i < full.owned.size(); ++i) {
      const std::int64_t count = full.owned[i].count;
      EXPECT_EQ(halves.owned[i].count, count);
      EXPECT_EQ(codes.owned[i].count, count);
      EXPECT_EQ(codes.owned[i].master_offset, full.owned[i].master_offset);
      EXPECT_EQ(halves.owned[i].slot_offset, of_halves);
      EXPECT_EQ(codes.owned[i].slot_offset, of_codes);
      of_halves += layers::aligned(static_cast<std::size_t>(count) * 2);
      of_codes += static_cast<std::size_t>(count + 255) / 256 * 256;
    }
    EXPECT_EQ(halves.slot, of_halves);
    EXPECT_EQ(codes.slot, of_codes);
    EXPECT_EQ(codes.scales, layers::aligned(of_codes / 64));
    EXPECT_EQ(full.scales, 0u);
    EXPECT_EQ(halves.scales, 0u);
  }
}

TEST(ParameterLayout, RangesOfWhatLayersReadFollowEachOther) {
  for (const layers::DType compute : {layers::DType::f32, layers::DType::f16}) {
    std::size_t reached = 0;
    std::vector<ParameterLayout> of_replicas;
    for (int replica = 0; replica < 3; ++replica)
      of_replicas.push_back(lay_out_parameters(
          layers_of(kRagged), {.compute = compute, .sharing = {3, 1 << 20}}, replica));
    const ParameterLayout& any = of_replicas[0];
    for (std::size_t bucket = 0; bucket < any.shards.bucket_ends.size(); ++bucket)
      for (const int replica : bit_reversed(3)) {
        const auto [begin, end] = any.read_ranges(replica)[bucket];
        EXPECT_EQ(begin, reached);
        reached = end;
      }
    EXPECT_EQ(reached, compute == layers::DType::f32 ? any.masters : any.copies);
  }
}

}  // namespace
}  // namespace penstock::partition
