#include "tests/emulated_cuda/emulation/streams.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/machine.h"

namespace emulated_cuda {
namespace {

constexpr std::chrono::seconds kPatience{60};

}  // namespace

CUstream_st& Streams::make(int device, Timeline line) {
  return *streams_.emplace_back(std::make_unique<CUstream_st>(CUstream_st{device, line}));
}

void Streams::destroy(CUstream_st& stream) {
  stream.destroyed = true;
  if (!stream.queue.empty()) return;
  done_by_destroyed_[stream.device].join(stream.clock);
  std::erase_if(streams_, [&stream](const auto& candidate) { return candidate.get() == &stream; });
}

CUstream_st* Streams::find(cudaStream_t stream) const {
  for (const auto& candidate : streams_)
    if (candidate.get() == stream && !candidate->destroyed) return stream;
  return nullptr;
}

void Streams::queue(CUstream_st& stream, Operation operation) {
  stream.queue.push_back(std::move(operation));
  machine().changed.notify_all();
  changed_ = std::chrono::steady_clock::now();
  while (machine().order.chance(3)) step();  // a device may begin at once
  machine().memory.open_only(0);
}

void Streams::run_until(const std::function<bool()>& done, std::unique_lock<std::mutex>& lock) {
  while (!done()) {
    if (step()) continue;
    machine().memory.open_only(0);
    if (machine().changed.wait_for(lock, kPatience) == std::cv_status::timeout)
      fail("streams wait for what does not come:", waiting());
  }
  machine().memory.open_only(0);
}

void Streams::go_on() {
  const bool stuck = !step() && std::chrono::steady_clock::now() - changed_ > kPatience;
  machine().memory.open_only(0);
  if (stuck) fail("streams wait for what does not come:", waiting());
}

bool Streams::step() {
  std::vector<CUstream_st*> candidates;
  for (const auto& stream : streams_)
    if (!stream->queue.empty()) candidates.push_back(stream.get());
  while (!candidates.empty()) {
    const std::size_t choice = machine().order.choose(candidates.size());
    if (advance(*candidates[choice])) return true;
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(choice));
  }
  return false;
}

bool Streams::advance(CUstream_st& stream) {
  const Operation& operation = stream.queue.front();
  const Doing doing(operation.what + ", queued");
  stream.clock.join(operation.known);
  if (!operation.advance(stream)) return false;
  stream.queue.pop_front();
  machine().changed.notify_all();
  changed_ = std::chrono::steady_clock::now();
  if (stream.destroyed) destroy(stream);
  return true;
}

bool Streams::idle(int device) const {
  return std::ranges::all_of(streams_, [device](const auto& stream) {
    return stream->device != device || stream->queue.empty();
  });
}

Clock Streams::done_on(int device) const {
  const auto destroyed = done_by_destroyed_.find(device);
  Clock clock = destroyed == done_by_destroyed_.end() ? Clock() : destroyed->second;
  for (const auto& stream : streams_)
    if (stream->device == device) clock.join(stream->clock);
  return clock;
}

std::size_t Streams::alive() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(streams_, [](const auto& stream) { return !stream->destroyed; }));
}

std::string Streams::waiting() const {
  std::string text;
  for (const auto& stream : streams_)
    if (!stream->queue.empty())
      text += "\n  a stream of device " + std::to_string(stream->device) + ", " +
              std::to_string(stream->queue.size()) +
              " operations, the first: " + stream->queue.front().what;
  return text;
}

}  // namespace emulated_cuda
