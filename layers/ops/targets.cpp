#include "layers/ops/targets.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::layers {

void expect_targets_of(const Targets& targets, std::span<const std::int64_t> lengths,
                       const char* loss) {
  const std::size_t utterances = lengths.size();
  if (targets.lengths.size() != utterances || targets.weights.size() != utterances ||
      targets.losses.size() != utterances)
    throw ShapeError(fmt::format("{} was given {}, labels of {}, weights of {} and losses of {}",
                                 loss, counted(utterances, "utterance"), targets.lengths.size(),
                                 targets.weights.size(), targets.losses.size()));
  expect_texts_of(targets, lengths, loss);
}

void expect_texts_of(const Targets& targets, std::span<const std::int64_t> lengths,
                     const char* layer) {
  if (targets.lengths.size() != lengths.size())
    throw ShapeError(fmt::format("{} was given {} and labels of {}; give each its labels", layer,
                                 counted(lengths.size(), "utterance"), targets.lengths.size()));
  std::size_t labels = 0;
  for (const std::int32_t count : targets.lengths) labels += static_cast<std::size_t>(count);
  if (labels != targets.labels.size())
    throw ShapeError(fmt::format("{} was given {}, but its utterances' lengths add up to {}", layer,
                                 counted(targets.labels.size(), "label"), labels));
}

void expect_labels_below(const Targets& targets, std::int64_t classes, const char* loss,
                         std::int32_t first) {
  for (const std::int32_t label : targets.labels)
    if (label < first || label >= classes)
      throw ShapeError(fmt::format("{} label {} is not among the classes {} to {}", loss, label,
                                   first, classes - 1));
}

}  // namespace penstock::layers
