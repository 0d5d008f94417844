#include "comm/shutdown.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace penstock::comm {

Shutdown::~Shutdown() { abort(); }

void Shutdown::add(std::shared_ptr<Abortable> communicator) {
  communicators_.push_back(std::move(communicator));
}

void Shutdown::remove(const Abortable& communicator) {
  std::erase_if(communicators_, [&](const auto& known) { return known.get() == &communicator; });
}

void Shutdown::fail(const std::exception& error) {
  if (std::exchange(failed_, true)) return;
  steps_.say(error);
  revoke();
  steps_.tell();
  abort();
}

void Shutdown::revoke() noexcept {
  for (const auto& communicator : communicators_) communicator->revoke();
}

/// Aborts each communicator in a thread of its own. A kernel that began after the revocation spins
/// until its own communicator is aborted, and the other communicators wait for it.
void Shutdown::abort() noexcept {
  revoke();
  std::vector<std::thread> threads;
  for (const auto& communicator : communicators_)
    threads.emplace_back([&communicator] { communicator->abort(); });
  for (std::thread& thread : threads) thread.join();
  communicators_.clear();
}

}  // namespace penstock::comm
