#include "runtime/checkpoint/open_in_turn.h"

#include <string>

#include "comm/collectives.h"
#include "runtime/checkpoint/newest.h"

namespace penstock::runtime {

Checkpoint open_in_turn(comm::Communicator& world, const std::filesystem::path& path,
                        const std::function<void(const Checkpoint&)>& check) {
  if (world.rank() != 0) return Checkpoint(comm::broadcast(world, std::string()));
  Checkpoint checkpoint = open_checkpoint(path);
  check(checkpoint);
  comm::broadcast(world, checkpoint.folder().string());
  return checkpoint;
}

}  // namespace penstock::runtime
