#include "partition/layout/parameter_layout.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "partition/layout/stage_bytes.h"

namespace penstock::partition {
namespace {

layers::LayerPlan layer_with(std::vector<layers::ParamDecl> params) {
  layers::LayerPlan plan;
  plan.params = std::move(params);
  return plan;
}

layers::ParamDecl param(const char* name, layers::Shape shape) {
  layers::ParamDecl decl;
  decl.name = name;
  decl.shape = std::move(shape);
  return decl;
}

/// A table of 7 × 3, a norm, and a head that is tied to the table.
std::vector<layers::LayerPlan> tied_layers() {
  layers::ParamDecl norm = param("norm", {3}), head = param("head", {7, 3});
  norm.full_precision = true;
  head.tied_to = "table";
  return {layer_with({param("table", {7, 3})}), layer_with({norm}), layer_with({head})};
}

constexpr std::size_t kTable = 128, kNorm = 64;  // bytes in FP32, in whole cache lines

TEST(ParameterLayout, OfATiedParameterHasNoState) {
  const auto layers = tied_layers();
  const ParameterLayout layout = lay_out_parameters(layers, {}, 0);
  EXPECT_EQ(layout.owned.size(), 2u);
  EXPECT_EQ(layout.slot, kTable + kNorm);
  EXPECT_EQ(layout.untied, kTable + kNorm);
  EXPECT_EQ(layout.arena, 2 * kTable + kNorm);
  EXPECT_EQ(layout.masters, 2 * kTable + kNorm);  // FP32: layers read masters
  EXPECT_EQ(layout.changing_masters, kTable + kNorm);
  EXPECT_EQ(layout.parameters[2].offset, kTable + kNorm);
}

TEST(ParameterLayout, HasNoTiedMasterUnderHalves) {
  const auto layers = tied_layers();
  const ParameterLayout layout = lay_out_parameters(layers, {.compute = layers::DType::bf16}, 0);
  EXPECT_EQ(layout.masters, kTable + kNorm);
  EXPECT_EQ(layout.copies, 2 * 64u);
  EXPECT_EQ(layout.changing_copies, 64u);
  EXPECT_EQ(layout.unused_masters, 0u);
}

// Replicas exchange what they update, and nothing of what follows the update.
TEST(ParameterLayout, LeavesTiedParametersOutOfTheExchange) {
  const auto layers = tied_layers();
  for (const layers::DType compute : {layers::DType::f32, layers::DType::bf16}) {
    const ParameterLayout layout = lay_out_parameters(
        layers, {.compute = compute, .sharing = {.replicas = 2, .bucket_bytes = 64}}, 1);
    const std::size_t end = layout.parts ? layout.changing_copies : layout.untied;
    std::size_t exchanged = 0, summed = 0;
    for (const int replica : {0, 1}) {
      for (const auto& [first, last] : layout.read_ranges(replica)) {
        EXPECT_LE(last, end);
        exchanged += last - first;
      }
      for (const ParameterPiece& piece : pieces_of(layout.parameters[2], layout, replica))
        summed += static_cast<std::size_t>(piece.count);
    }
    EXPECT_EQ(exchanged, end);
    EXPECT_EQ(summed, 21u);
  }
}

// A stage's bytes are sums over its layers, wherever the owner lies.
TEST(ParameterLayout, OfTiedParametersAddsUpOverStages) {
  const auto layers = tied_layers();
  for (const layers::DType compute : {layers::DType::f32, layers::DType::f16}) {
    const ParameterKinds kinds{.compute = compute};
    const auto sums = [&](std::size_t first, std::size_t count) {
      const auto part = std::span(layers).subspan(first, count);
      return sums_of(part, lay_out_parameters(part, kinds, 0));
    };
    ParameterSums parts = sums(0, 2);
    parts.add(sums(2, 1));
    const ParameterSums whole = sums(0, 3);
    EXPECT_EQ(parts.masters, whole.masters);
    EXPECT_EQ(parts.copies, whole.copies);
    EXPECT_EQ(parts.arena, whole.arena);
    EXPECT_EQ(parts.slot, whole.slot);
    EXPECT_EQ(parts.changing_masters, whole.changing_masters);
    EXPECT_EQ(parts.changing_copies, whole.changing_copies);
  }
}

TEST(ParameterLayout, RefusesATiedParameterBeforeOthers) {
  auto layers = tied_layers();
  layers.push_back(layer_with({param("late", {3})}));
  EXPECT_THROW(lay_out_parameters(layers, {}, 0), ShapeError);
  layers.back().params.front().summed = false;
  EXPECT_NO_THROW(lay_out_parameters(layers, {}, 0));
}

}  // namespace
}  // namespace penstock::partition
