#include "comm/run_on_rank_0.h"

#include <string>

#include "base/error.h"
#include "comm/collectives.h"

namespace penstock::comm {
namespace {

/// An error travels as text: a letter for its type, then its message.
constexpr char kConfig = 'c', kData = 'd', kCheckpoint = 'p';

std::string told(const std::function<void()>& work) try {
  work();
  return {};
} catch (const ConfigError& error) {
  return kConfig + std::string(error.what());
} catch (const DataError& error) {
  return kData + std::string(error.what());
} catch (const CheckpointError& error) {
  return kCheckpoint + std::string(error.what());
}

}  // namespace

void run_on_rank_0(Communicator& world, const std::function<void()>& work) {
  if (world.size() == 1) return work();
  const std::string error = broadcast(world, world.rank() == 0 ? told(work) : std::string());
  if (error.empty()) return;
  const std::string text = error.substr(1);
  if (error[0] == kConfig) throw ConfigError(text);
  if (error[0] == kData) throw DataError(text);
  throw CheckpointError(text);
}

}  // namespace penstock::comm
