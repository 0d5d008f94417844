#pragma once

#include <filesystem>
#include <memory>

#include "comm/communicator.h"

namespace penstock::comm {

struct FilesOptions {
  std::filesystem::path folder;  // empty when the job starts, and the same for all its ranks
  int rank = 0, ranks = 1;
};

/// Joins ranks that meet in a folder of one machine or of a shared disk. Every message is a file
/// there. It serves machines without MPI: it is fast enough to exchange NCCL's ids and for trials,
/// and slow otherwise. A send is done at once. abort() raises CommError on this rank and on the
/// others, which it wakes; a rank that is killed goes unnoticed. CommError if this rank has joined
/// in the folder before, since the messages of an earlier job would be mistaken for this one's.
std::unique_ptr<Communicator> join_files(const FilesOptions& options);

}  // namespace penstock::comm
