#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "runtime/corpus/corpus.h"
#include "runtime/data/faults.h"
#include "runtime/job/packing.h"

namespace penstock::runtime {

/// Ends what all ranks know of a corpus's faults: DataError by rank 0, or, under
/// data.bad_utterances = "skip", how many there are; rank 0 logs them.
std::int64_t throw_or_count(comm::Communicator& world, const Faults& faults,
                            const CorpusOptions& options);

void pack(const Faults& faults, Packer& message);
[[nodiscard]] Faults unpack_faults(Unpacker& message);

}  // namespace penstock::runtime
