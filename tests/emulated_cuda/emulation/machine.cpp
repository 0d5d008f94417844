#include "tests/emulated_cuda/emulation/machine.h"

#include <utility>

#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

Host& this_host() {
  thread_local Host host;
  return host;
}

}  // namespace

Machine::Machine() {
  models.fill("emulated CUDA");
  catch_bad_addresses();
}

Machine& machine() {
  static Machine machine;
  return machine;
}

Call::Call(const char* name)
    : name_(name), doing_(name), host_(this_host()), lock_(machine().mutex) {}

CUstream_st& Call::stream(cudaStream_t stream) const {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    fail("the NULL stream orders itself with others behind one's back: give a stream");
  CUstream_st* found = machine().streams.find(stream);
  if (found == nullptr) fail(stream, " is no stream, or one that was destroyed");
  return *found;
}

CUevent_st& Call::event(cudaEvent_t event) const {
  if (!machine().events.contains(event)) fail(event, " is no event, or one that was destroyed");
  return *event;
}

void Call::queue(CUstream_st& stream, std::function<void()> work) const {
  const auto advance = [work = std::move(work)](CUstream_st& own) {
    machine().memory.open_only(1u << own.device);
    own.clock.advance(own.line);
    ++own.done;
    watch().operation_begins(own.line, own.clock);
    work();
    return true;
  };
  machine().streams.queue(stream, {name_, advance, host_.known});
}

void Call::queue_waiting(CUstream_st& stream, std::function<bool(CUstream_st&)> advance) const {
  machine().streams.queue(stream, {name_, std::move(advance), host_.known});
}

void Call::load(int device, const void* kernel) {
  if (machine().modules.loaded(device, kernel)) return;
  machine().streams.run_until([device] { return machine().streams.idle(device); }, lock_);
  machine().modules.load(device, kernel);
}

void Call::finish(CUstream_st& stream) {
  machine().streams.run_until([&] { return stream.queue.empty(); }, lock_);
  host_.known.join(stream.clock);
}

void Call::finish_device(int device) {
  machine().streams.run_until([device] { return machine().streams.idle(device); }, lock_);
  host_.known.join(machine().streams.done_on(device));
}

void Call::wait_for(const Record& record) {
  machine().streams.run_until([&] { return record.reached; }, lock_);
  host_.known.join(record.clock);
}

cudaError_t Call::error(cudaError_t status) const {
  if (status != cudaSuccess) host_.last_error = status;
  return status;
}

}  // namespace emulated_cuda
