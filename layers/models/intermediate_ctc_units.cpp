#include "layers/models/intermediate_ctc_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/quantities.h"
#include "layers/losses/intermediate_ctc.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "layers/nn/residual.h"

// Papers give all losses the product of the model's end. Here each has its own, with a norm before
// it: equal weights on several stages would need messages in every step, and raw sums of residual
// units are no input for them.

namespace penstock::layers {
namespace {

constexpr std::string_view kPassing = ".intermediate_ctc", kConditioning = ".self_conditioned_ctc";

}  // namespace

std::vector<Key> intermediate_loss_keys(IntermediateLosses* losses) {
  return {
      Key("model.intermediate_ctc", &losses->blocks, between(1, 1000),
          "blocks, numbered from 1, after which a CTC loss is trained as well, such as [6, 12]"),
      Key("model.intermediate_ctc_weight", &losses->weight, between(0, 100),
          "factor of the mean of these losses, which is added to the model's loss"),
      Key("model.self_conditioned_ctc", &losses->conditions, anything(),
          "later blocks read the labels' posteriors after the blocks of model.intermediate_ctc"),
  };
}

bool is_intermediate_key(std::string_view name) {
  return name.starts_with("model.intermediate_ctc") || name == "model.self_conditioned_ctc";
}

std::vector<Contradiction> intermediate_loss_contradictions(const IntermediateLosses& losses,
                                                            int blocks) {
  constexpr std::string_view key = "model.intermediate_ctc";
  const std::vector<int>& after = losses.blocks;
  std::vector<Contradiction> found;
  if (std::ranges::adjacent_find(after, std::greater_equal{}) != after.end())
    found.push_back({key, "blocks of model.intermediate_ctc must ascend, such as [3, 6]"});
  if (!after.empty() && std::ranges::max(after) >= blocks)
    found.push_back({key, fmt::format("a loss follows block {}, and the model has {}, the last of "
                                      "which has the model's loss: name blocks before it",
                                      std::ranges::max(after), counted(blocks, "block"))});
  if (losses.conditions && after.empty())
    found.push_back({"model.self_conditioned_ctc",
                     "no block has a CTC loss to condition on: name some in "
                     "model.intermediate_ctc"});
  return found;
}

void add_intermediate_loss(std::vector<std::unique_ptr<Layer>>& sequence,
                           const IntermediateLosses& losses, const EncoderBlock& block) {
  if (std::ranges::find(losses.blocks, block.number) == losses.blocks.end()) return;
  const std::string name =
      fmt::format("block{}{}", block.number, losses.conditions ? kConditioning : kPassing);
  const auto count = static_cast<double>(losses.blocks.size());
  ResidualOptions unit;
  unit.name = name;
  unit.channels = block.width;
  unit.training_only = !losses.conditions;
  unit.parts.push_back(std::make_unique<LayerNorm>(
      LayerNormOptions{.name = name + ".norm", .channels = block.width}));
  unit.parts.push_back(std::make_unique<Linear>(
      LinearOptions{.name = name + ".output", .in = block.width, .out = block.classes}));
  unit.parts.push_back(std::make_unique<IntermediateCtc>(
      IntermediateCtcOptions{.name = name + ".ctc",
                             .classes = block.classes,
                             .zeros = losses.conditions ? 0 : block.width,
                             .weight = losses.weight / count}));
  if (losses.conditions)
    unit.parts.push_back(std::make_unique<Linear>(
        LinearOptions{.name = name + ".condition", .in = block.classes, .out = block.width}));
  sequence.push_back(std::make_unique<Residual>(std::move(unit)));
}

bool is_intermediate_parameter(std::string_view name) {
  return is_unused_in_evaluation(name) || name.find(kConditioning) != std::string_view::npos;
}

bool is_unused_in_evaluation(std::string_view name) {
  return name.find(kPassing) != std::string_view::npos;
}

}  // namespace penstock::layers
