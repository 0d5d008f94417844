#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "partition/chain.h"
#include "partition/schedule.h"
#include "partition/stage_bytes.h"

namespace penstock {

/// What any range of a chain's layers needs of memory as one of the chunks of a schedule whose
/// neighbours are on other ranks. Chain and micro-batches are read when asked for bytes; `chain`
/// must outlive this.
class ChunkBytes {
 public:
  /// `micro_batches`: feature frames of the utterances of each micro-batch that must fit.
  ChunkBytes(const Chain& chain, const std::vector<std::vector<std::int64_t>>& micro_batches,
             const BackendSizes& sizes, const Schedule& schedule, const ParameterBytes& parameters);

  /// Of layers [first, last) as that chunk.
  StageBytes operator()(int first, int last, int chunk) const;

 private:
  BufferBytes buffers(int first, int last) const;

  const Chain& chain_;
  BackendSizes sizes_;
  ParameterBytes parameters_;
  std::vector<InFlight> in_flight_;                  // by chunk
  std::vector<std::vector<ActivationDecl>> inputs_;  // of each layer, by micro-batch
  std::vector<LayerPlan> plans_;                     // of each layer, for the first micro-batch
  mutable std::map<std::pair<int, int>, BufferBytes> known_;
};

}  // namespace penstock
