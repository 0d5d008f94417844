#include "runtime/job/shared_output.h"

#include <fmt/format.h>

#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_handle.h"
#include "comm/agree.h"
#include "comm/collectives.h"
#include "runtime/checkpoint/output_lock.h"

namespace penstock::runtime {
namespace {

/// Returns why this rank cannot write where rank 0 does, or an empty text. The lock's file has a
/// text that no other run writes, so a rank that reads it there sees rank 0's folder, whatever
/// paths are mounted where. Each rank probes with a file of its own.
std::string fault(const std::filesystem::path& output, const std::string& token, int rank) {
  constexpr const char* kOther = "sees another folder of that name, or none";
  try {
    if (read_file(OutputLock::file_of(output)) != token) return kOther;
    const auto probe = output / fmt::format(".probe-{}", rank);
    write_durably(probe, "written to see whether this rank can write here\n");
    std::filesystem::remove(probe);
    return {};
  } catch (const FileError& error) {
    return error.missing() ? kOther : error.what();
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void check_shared_output(comm::Communicator& world, const OutputShare& share) {
  const std::string token = comm::broadcast(world, share.token);
  const std::vector<std::string> all =
      comm::gather(world, share.writes ? fault(share.output, token, world.rank()) : "");
  std::string faults;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty()) faults += fmt::format("\n  rank {}: {}", rank, all[rank]);
  comm::run_on_rank_0(world, [&] {
    if (!faults.empty())
      throw CheckpointError(
          fmt::format("{}: trainer.output must be the same folder for every rank that writes "
                      "checkpoints:{}\nChoose a folder on a file system that all nodes share.",
                      share.output.string(), faults));
  });
}

}  // namespace penstock::runtime
