#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "configs/config.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/huggingface/tensor_stream.h"

namespace penstock::runtime {

/// The update of a weight W [out, in] by an adapter (LoRA): W + scale · B · A.
struct LowRankUpdate {
  std::string a, b;  // names of A [rank, in] and B [out, rank]
  std::int64_t rank = 0, in = 0;
  double scale = 1;
};

/// Updates by the name of W.
using LowRankUpdates = std::map<std::string, LowRankUpdate, std::less<>>;

/// Returns the names of the factors of a linear layer's adapter, as penstock names them.
[[nodiscard]] std::string lora_a(std::string_view layer);
[[nodiscard]] std::string lora_b(std::string_view layer);

/// Returns a function that reads weights with `read`, and adds to them the updates whose factors
/// `factors` reads. Numbers are FP32, summed in the order of the rank, and do not depend on the
/// parts in which a weight is read. One A is in memory at a time, and the rows of B and of W that
/// are asked for.
[[nodiscard]] ReadElements merging_reader(ReadElements read, ReadElements factors,
                                          LowRankUpdates updates);

/// Returns the section [lora] of the recipe in a checkpoint.
[[nodiscard]] configs::LoraConfig lora_of(const Checkpoint& checkpoint);

/// Returns the updates of a checkpoint's adapters, by the names of its weights. Throws
/// CheckpointError if a tensor is missing or has another shape than the others or lora.rank tell.
[[nodiscard]] LowRankUpdates updates_of(const Checkpoint& checkpoint);

/// Returns a recipe without the section [lora], for a checkpoint into which adapters were merged.
[[nodiscard]] std::map<std::string, std::string> without_lora(
    std::map<std::string, std::string> config);

}  // namespace penstock::runtime
