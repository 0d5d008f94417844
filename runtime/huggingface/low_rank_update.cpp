#include "runtime/huggingface/low_rank_update.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "configs/flatten.h"
#include "layers/models/families.h"
#include "layers/nn/lora_linear.h"
#include "runtime/checkpoint/fault.h"

// An adapter is merged into its weight while the weight is written, row by row:
//
//   row o of W   +   scale · (B[o, 0] · A[0, :]  +  B[o, 1] · A[1, :]  +  …)
//
// The sum over the rank has one order, whatever part of a row is asked for, so that a file's bits
// do not depend on the sizes of its parts. A is small beside W and is kept as long as parts of the
// same W are read.

namespace penstock::runtime {
namespace {

using layers::kLoraA, layers::kLoraB;

constexpr std::string_view kWeightSuffix = ".weight", kSection = "lora.";

class Merger {
 public:
  Merger(ReadElements read, ReadElements factors, LowRankUpdates updates)
      : read_(std::move(read)), factors_(std::move(factors)), updates_(std::move(updates)) {}

  void read(const std::string& source, std::int64_t begin, std::span<float> out) {
    read_(source, begin, out);
    const auto found = updates_.find(source);
    if (found == updates_.end() || out.empty()) return;
    const LowRankUpdate& update = found->second;
    if (source_ != source) {
      a_.resize(static_cast<std::size_t>(update.rank * update.in));
      factors_(update.a, 0, a_);
      source_ = source;
    }
    add(update, begin, out);
  }

 private:
  /// Adds the update to elements of W from `begin` on, which may be parts of rows.
  void add(const LowRankUpdate& update, std::int64_t begin, std::span<float> out) {
    const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
    const std::int64_t first = begin / update.in, last = (end - 1) / update.in;
    b_.resize(static_cast<std::size_t>((last - first + 1) * update.rank));
    factors_(update.b, first * update.rank, b_);
    for (std::int64_t row = first; row <= last; ++row) {
      const std::int64_t from = std::max(begin, row * update.in);
      const std::int64_t to = std::min(end, (row + 1) * update.in);
      const auto b = std::span(b_).subspan(static_cast<std::size_t>((row - first) * update.rank),
                                           static_cast<std::size_t>(update.rank));
      add_row(
          update, b, from - row * update.in,
          out.subspan(static_cast<std::size_t>(from - begin), static_cast<std::size_t>(to - from)));
    }
  }

  /// Adds scale · b · A to columns of a row, from `column` on.
  void add_row(const LowRankUpdate& update, std::span<const float> b, std::int64_t column,
               std::span<float> row) {
    sum_.assign(row.size(), 0);
    for (std::size_t k = 0; k < b.size(); ++k) {
      const float* const a = a_.data() + static_cast<std::int64_t>(k) * update.in + column;
      for (std::size_t i = 0; i < row.size(); ++i) sum_[i] += b[k] * a[i];
    }
    const auto scale = static_cast<float>(update.scale);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += scale * sum_[i];
  }

  ReadElements read_, factors_;
  LowRankUpdates updates_;
  std::string source_;  // W whose A is in memory
  std::vector<float> a_, b_, sum_;
};

}  // namespace

std::string lora_a(std::string_view layer) { return fmt::format("{}{}", layer, kLoraA); }
std::string lora_b(std::string_view layer) { return fmt::format("{}{}", layer, kLoraB); }

ReadElements merging_reader(ReadElements read, ReadElements factors, LowRankUpdates updates) {
  if (updates.empty()) return read;
  const auto merger =
      std::make_shared<Merger>(std::move(read), std::move(factors), std::move(updates));
  return [merger](const std::string& source, std::int64_t begin, std::span<float> out) {
    merger->read(source, begin, out);
  };
}

// Only the section's own keys are read, so the model may be of any family.
configs::LoraConfig lora_of(const Checkpoint& checkpoint) {
  configs::FlatConfig section;
  for (const auto& [key, value] : checkpoint.state().config)
    if (key.starts_with(kSection)) section.emplace(key, value);
  return configs::unflatten(section, checkpoint.folder().string(), layers::model_families())
      .model.lora;
}

LowRankUpdates updates_of(const Checkpoint& checkpoint) {
  const configs::LoraConfig lora = lora_of(checkpoint);
  LowRankUpdates updates;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (name.starts_with(kSlotTensors) || !name.ends_with(kLoraA)) continue;
    const std::string layer = name.substr(0, name.size() - kLoraA.size());
    const std::string weight = fmt::format("{}{}", layer, kWeightSuffix);
    const layers::Shape& shape = checkpoint.tensor(weight).shape;
    if (shape.size() != 2 || lora.rank < 1)
      throw_fault(checkpoint.folder(),
                  fmt::format("holds '{}', but {}", name,
                              lora.rank < 1 ? "its recipe has lora.rank = 0"
                                            : fmt::format("'{}' is no matrix", weight)));
    expect_floats(checkpoint, name, {lora.rank, shape[1]});
    expect_floats(checkpoint, lora_b(layer), {shape[0], lora.rank});
    updates.emplace(weight, LowRankUpdate{.a = name,
                                          .b = lora_b(layer),
                                          .rank = lora.rank,
                                          .in = shape[1],
                                          .scale = lora.alpha / lora.rank});
  }
  return updates;
}

std::map<std::string, std::string> without_lora(std::map<std::string, std::string> config) {
  std::erase_if(config, [](const auto& entry) { return entry.first.starts_with(kSection); });
  return config;
}

}  // namespace penstock::runtime
