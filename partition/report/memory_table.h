#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "partition/memory/stage_bytes.h"

namespace penstock::partition {

/// A stage's bytes of each kind, as reports name them: "weights", "gradients".
using MemoryByKind = std::vector<std::pair<std::string, double>>;

[[nodiscard]] MemoryByKind by_kind(const StageBytes& bytes);

/// Values of all stages below the total, "limit": in bytes; infinite: none.
struct MemoryRow {
  std::string name;
  std::vector<double> of_stages = {};
};

/// A table with a column for each stage and a row for each kind of which a stage has something,
/// their total, and then `below`. It counts in MiB where not even the fullest stage takes a GiB.
[[nodiscard]] std::string memory_table(const std::vector<MemoryByKind>& stages,
                                       const std::vector<MemoryRow>& below, std::size_t columns);

}  // namespace penstock::partition
