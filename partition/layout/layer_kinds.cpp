#include "partition/layout/layer_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdint>
#include <map>

namespace penstock::partition {
namespace {

std::string declared(const layers::LayerPlan& plan) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {}|", static_cast<int>(plan.work), plan.flops.forward,
                  plan.flops.backward_input, plan.flops.backward_weight, plan.sums,
                  plan.runs_backward(), plan.workspace.forward);
  for (const layers::FramesDecl& frames : plan.output.frames)
    text += fmt::format("{};", frames.channels);
  for (const layers::ParamDecl& param : plan.params)
    text +=
        fmt::format("{} {} {};", fmt::join(param.shape, " "), param.full_precision, param.frozen());
  for (const layers::SavedDecl& saved : plan.saved)
    text += fmt::format("{} {} {};", static_cast<int>(saved.kind), static_cast<int>(saved.dtype),
                        fmt::join(saved.shape, " "));
  return text;
}

}  // namespace

std::vector<std::string> declared_layers(const LayerSequence& sequence,
                                         const layers::BackendSizes& sizes) {
  const std::int64_t min = min_frames(sequence);
  const std::array<std::int64_t, 2> lengths{5 * min + 811, 3 * min + 397};
  std::vector<std::string> texts;
  std::string input;  // shapes that enter the layer, which its plan lacks
  for (const layers::LayerPlan& plan : plan_layers(sequence, lengths, sizes)) {
    texts.push_back(input + declared(plan));
    input.clear();
    for (const layers::FramesDecl& frames : plan.output.frames)
      input += fmt::format("{} ", fmt::join(frames.shape(), " "));
  }
  return texts;
}

std::vector<int> layer_kinds(const LayerSequence& sequence, const layers::BackendSizes& sizes) {
  std::map<std::string, int> numbers;
  std::vector<int> kinds;
  for (const std::string& layer : declared_layers(sequence, sizes))
    kinds.push_back(numbers.try_emplace(layer, static_cast<int>(numbers.size())).first->second);
  return kinds;
}

}  // namespace penstock::partition
