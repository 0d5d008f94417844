#include "runtime/checkpoint/average/average_checkpoints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/passthrough_parts.h"
#include "runtime/checkpoint/remote/local_checkpoint.h"
#include "runtime/checkpoint/save.h"

// Every element of the result is its sum over the checkpoints in FP64, in the order of their steps,
// divided by their number and rounded to FP32 once. So the order in which checkpoints are named
// does not change a bit. A writer asks for a tensor part by part; each part is read from all
// checkpoints and added up. With K checkpoints of n bytes of weights, K · n bytes are read twice,
// once to verify them, and n are written.

namespace penstock::runtime {
namespace {

constexpr std::int64_t kElementsAtOnce = 1 << 20;

using Checkpoints = std::vector<Checkpoint>;

/// Returns weights and running statistics: all tensors but slots and kept parts.
std::map<std::string, layers::Shape> weights_of(const Checkpoint& checkpoint) {
  std::map<std::string, layers::Shape> weights;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (name.starts_with(kSlotTensors) || name.starts_with(kKeptTensors)) continue;
    expect_floats(checkpoint, name, tensor.shape);
    weights[name] = tensor.shape;
  }
  return weights;
}

std::string shape_text(const layers::Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Describes the first difference between the tensors of two checkpoints, or returns "".
std::string tensor_difference(const Checkpoint& one, const Checkpoint& other) {
  const auto of_one = weights_of(one), of_other = weights_of(other);
  const auto [here, there] = std::ranges::mismatch(of_one, of_other);
  if (here == of_one.end() && there == of_other.end()) return {};
  if (there == of_other.end() || (here != of_one.end() && here->first < there->first))
    return fmt::format("the latter has no '{}'", here->first);
  if (here == of_one.end() || here->first != there->first)
    return fmt::format("the former has no '{}'", there->first);
  return fmt::format("'{}' is {} in the former and {} in the latter", here->first,
                     shape_text(here->second), shape_text(there->second));
}

/// Does the same for what defines the labels. The bytes of a SentencePiece model count, not its
/// path; with such a model, the alphabet has no effect.
std::string label_difference(const TrainingState& one, const TrainingState& other) {
  if (one.tokenizer_hash != other.tokenizer_hash)
    return "they have different models of pieces (text.model)";
  const auto value = [](const TrainingState& state) {
    const auto found = state.config.find("text.alphabet");
    return found == state.config.end() ? std::string() : found->second;
  };
  if (!one.tokenizer_hash.empty() || value(one) == value(other)) return {};
  return fmt::format("text.alphabet is {} in the former and {} in the latter", value(one),
                     value(other));
}

void require_alike(const Checkpoint& one, const Checkpoint& other) {
  std::string difference = tensor_difference(one, other);
  if (difference.empty()) difference = label_difference(one.state(), other.state());
  if (difference.empty()) return;
  throw CheckpointError(fmt::format(
      "{} and {} can't be averaged: {}. Name checkpoints of one model, such as those of one run",
      one.place().name(), other.place().name(), difference));
}

/// Opens the checkpoints, in the order of their steps, and verifies what is read of them: all of
/// the newest, whose kept parts are copied, and the weights of the others.
Checkpoints open_all(const std::vector<std::filesystem::path>& folders) {
  Checkpoints opened;
  for (const std::filesystem::path& folder : folders)
    opened.emplace_back(local_checkpoint(folder), OpenShards::as_read);
  std::ranges::sort(opened, {}, [](const Checkpoint& each) {
    return std::tuple(each.state().step, each.place().name());
  });
  for (std::size_t i = 0; i < opened.size(); ++i)
    for (std::size_t other = 0; other < i; ++other)
      if (std::filesystem::equivalent(opened[i].folder(), opened[other].folder()))
        throw_fault(opened[i].place().name(), "is named twice: name each checkpoint once");
  for (const Checkpoint& each : opened) require_alike(opened.back(), each);
  for (const Checkpoint& each : opened)
    each.verify(&each == &opened.back() ? Verified::all : Verified::read);
  return opened;
}

/// Computes means part by part. A tensor's handle points to its name.
class MeanStream {
 public:
  explicit MeanStream(const Checkpoints& checkpoints) : checkpoints_(checkpoints) {}

  std::span<const std::byte> bytes(const layers::Tensor& handle, std::size_t begin) {
    const std::string& name = *static_cast<const std::string*>(handle.data);
    const auto first = static_cast<std::int64_t>(begin / sizeof(float));
    const auto count = static_cast<std::size_t>(std::min(handle.size() - first, kElementsAtOnce));
    sums_.assign(count, 0);
    numbers_.resize(count);
    for (const Checkpoint& each : checkpoints_) {
      read_floats(each, model_tensor(each, name), first, numbers_);
      add(each, name);
    }
    const auto of = static_cast<double>(checkpoints_.size());
    std::ranges::transform(sums_, numbers_.begin(),
                           [of](double sum) { return static_cast<float>(sum / of); });
    return std::as_bytes(std::span(numbers_));
  }

 private:
  void add(const Checkpoint& checkpoint, const std::string& name) {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (!std::isfinite(numbers_[i]))
        throw_fault(
            checkpoint.folder(),
            fmt::format("'{}' holds {}, where all numbers must be finite", name, numbers_[i]));
      sums_[i] += numbers_[i];
    }
  }

  const Checkpoints& checkpoints_;
  std::vector<double> sums_;
  std::vector<float> numbers_;
};

/// Returns the state of the newest checkpoint without its validations, which are not those of the
/// mean.
TrainingState state_of_mean(const Checkpoints& checkpoints) {
  TrainingState state = checkpoints.back().state();
  state.best_metric.clear();
  state.best_value = 0;
  state.best_step = 0;
  state.best_corpus_hash.clear();
  state.early_stopping.reset();
  state.averaged.clear();
  for (const Checkpoint& each : checkpoints)
    state.averaged.push_back({each.state().step, each.place().name()});
  return state;
}

}  // namespace

AverageReport average_checkpoints(const std::vector<std::filesystem::path>& checkpoints,
                                  const std::filesystem::path& folder) {
  if (checkpoints.size() < 2)
    throw ConfigError(
        "a mean takes two checkpoints or more: name several, or one output folder with --last K "
        "or --best K");
  const Checkpoints opened = open_all(checkpoints);
  for (const Checkpoint& each : opened) refuse_within(each.folder(), folder);
  const TrainingState state = state_of_mean(opened);
  std::map<std::string, layers::Shape> weights = weights_of(opened.back());
  std::vector<CheckpointPiece> pieces;
  AverageReport report{.averaged = state.averaged};
  for (const auto& [name, shape] : weights) {
    const std::int64_t count = layers::element_count(shape);
    pieces.push_back({name, layers::DType::f32, shape, 0, count, &name});
    report.parameters += count;
  }
  NewFolder made(folder);
  MeanStream stream(opened);
  const ShardIndex shard = write_shard(
      made.partial(), "stage-0", pieces,
      [&](const layers::Tensor& handle, std::size_t begin) { return stream.bytes(handle, begin); });
  complete_folder(made.partial(), state, {shard}, tokenizer_bytes(opened.back()),
                  read_kept(opened.back()));
  made.commit();
  return report;
}

}  // namespace penstock::runtime
