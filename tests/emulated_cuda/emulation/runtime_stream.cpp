// CUDA's runtime: streams and events.
#include <cuda_runtime_api.h>

#include "tests/emulated_cuda/emulation/machine.h"

using namespace emulated_cuda;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Call call("cudaStreamCreateWithFlags");
  if (flags != cudaStreamNonBlocking)
    fail("a stream that waits for the NULL stream: give cudaStreamNonBlocking");
  *stream = &machine().streams.make(call.host().device, machine().timelines++);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call("cudaStreamDestroy");
  machine().streams.destroy(call.stream(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Call call("cudaStreamSynchronize");
  ++machine().issued.waits;
  call.finish(call.stream(stream));
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Call call("cudaStreamWaitEvent");
  // The wait is for what the event was recorded for last, even if it is recorded again meanwhile.
  if (const std::shared_ptr<Record> record = call.event(event).latest)
    call.queue_waiting(call.stream(stream), [record](CUstream_st& own) {
      if (record->reached) own.clock.join(record->clock);
      return record->reached;
    });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Call call("cudaEventCreateWithFlags");
  *event = new CUevent_st{call.host().device, (flags & cudaEventDisableTiming) == 0};
  machine().events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call("cudaEventDestroy");
  machine().events.erase(&call.event(event));
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  const Call call("cudaEventRecord");
  CUevent_st& event = call.event(handle);
  if (call.stream(stream).device != event.device)
    fail("the event is of device ", event.device, ", the stream of device ", stream->device);
  event.latest = std::make_shared<Record>();
  event.latest->stream = stream;
  call.queue_waiting(*stream, [record = event.latest](CUstream_st& own) {
    record->clock = own.clock;
    record->done = own.done;
    return record->reached = true;
  });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Call call("cudaEventSynchronize");
  if (const std::shared_ptr<Record> record = call.event(event).latest) call.wait_for(*record);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  Call call("cudaEventQuery");
  const std::shared_ptr<Record> record = call.event(event).latest;
  if (record == nullptr) return cudaSuccess;
  if (!record->reached) {  // devices go on while the host asks
    machine().streams.go_on();
    return cudaErrorNotReady;
  }
  call.wait_for(*record);
  return cudaSuccess;
}

/// Every operation of a stream takes a microsecond, so that who measures finds how many there are.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  const Call call("cudaEventElapsedTime");
  const CUevent_st &first = call.event(from), &last = call.event(to);
  if (!first.keeps_time || !last.keeps_time || first.latest == nullptr || last.latest == nullptr)
    return call.error(cudaErrorInvalidResourceHandle);
  if (first.latest->stream != last.latest->stream)
    fail("the two events are of two streams, whose operations have no common time");
  if (!first.latest->reached || !last.latest->reached) return call.error(cudaErrorNotReady);
  *milliseconds = 1e-3f * static_cast<float>(last.latest->done - first.latest->done);
  return cudaSuccess;
}
