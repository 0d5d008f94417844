#include "comm/common_failure.h"

#include <thread>
#include <vector>

#include "comm/tags.h"

namespace penstock::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns true if the transfer is done before `end`.
bool done_until(Communicator& world, Transfer& transfer, Clock::time_point end) {
  while (!transfer.done()) {
    if (Clock::now() >= end) return false;
    world.progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

Message message_to(int rank) { return {rank, tags::failure, "exit code of a failure"}; }

/// Gathers all codes on rank 0, which answers only if they equal its own.
bool ask_all(Communicator& world, int code, Clock::time_point end) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<int> codes(ranks, code);
  std::vector<std::unique_ptr<Transfer>> transfers(ranks);
  for (std::size_t rank = 1; rank < ranks; ++rank)
    transfers[rank] = world.receive(message_to(static_cast<int>(rank)),
                                    std::as_writable_bytes(std::span(&codes[rank], 1)));
  for (std::size_t rank = 1; rank < ranks; ++rank)
    if (!done_until(world, *transfers[rank], end) || codes[rank] != code) return false;
  for (std::size_t rank = 1; rank < ranks; ++rank)
    transfers[rank] =
        world.send(message_to(static_cast<int>(rank)), std::as_bytes(std::span(&code, 1)));
  for (std::size_t rank = 1; rank < ranks; ++rank)
    if (!done_until(world, *transfers[rank], end + std::chrono::seconds(1))) return false;
  return true;
}

bool ask_rank_0(Communicator& world, int code, Clock::time_point end) {
  int answer = 0;
  const auto told = world.send(message_to(0), std::as_bytes(std::span(&code, 1)));
  const auto heard = world.receive(message_to(0), std::as_writable_bytes(std::span(&answer, 1)));
  return done_until(world, *told, end) && done_until(world, *heard, end);
}

}  // namespace

bool all_ranks_fail(Communicator& world, int code, std::chrono::milliseconds patience) try {
  const auto end = Clock::now() + patience;
  return world.rank() == 0 ? ask_all(world, code, end) : ask_rank_0(world, code, end);
} catch (const std::exception&) {
  return false;  // a rank has died: the job ends by abort()
}

}  // namespace penstock::comm
