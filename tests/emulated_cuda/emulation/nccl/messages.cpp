// NCCL: messages and sums, alone or grouped.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/nccl/communicator.h"

using namespace emulated_cuda;
using namespace emulated_cuda::nccl;

namespace {

/// Parts of one communicator in one stream, which start together.
struct Batch {
  std::shared_ptr<Member> member;
  cudaStream_t stream;
  std::vector<Part> parts;
};

/// Holds the calls that a host thread has made since its ncclGroupStart, until ncclGroupEnd.
struct Group {
  int depth = 0;
  std::vector<Batch> batches;
};
thread_local Group group;

void queue(const Call& call, Batch batch) {
  CUstream_st& stream = call.stream(batch.stream);
  Member& member = *batch.member;
  const unsigned number = ++member.calls;
  member.queued.push_back(number);
  const auto posted = std::make_shared<std::pair<bool, Batch>>(false, std::move(batch));
  call.queue_waiting(stream, [posted, number](CUstream_st& own) {
    auto& [is_posted, batch] = *posted;
    Member& member = *batch.member;
    if (member.ends_early()) {
      std::erase(member.queued, number);
      return true;
    }
    if (member.queued.front() != number) return false;
    if (!std::exchange(is_posted, true))
      for (Part& part : batch.parts) {
        part.stream = &own;
        member.clique->post(member.rank, part);
      }
    if (!std::ranges::all_of(batch.parts, &Part::done)) return false;
    member.queued.pop_front();
    return true;
  });
}

void check(const Call& call, const Member& member, const Part& part, cudaStream_t stream) {
  if (part.kind != Part::Kind::all_reduce && (part.peer < 0 || part.peer >= member.clique->size()))
    fail("rank ", part.peer, " does not exist among ", member.clique->size());
  if (call.stream(stream).device != member.device)
    fail("the communicator is of device ", member.device, ", the stream of device ",
         stream->device);
  Memory& memory = machine().memory;
  if (part.from != nullptr && part.bytes() > 0)
    memory.expect_device(member.device, part.from, part.bytes(), "what is sent");
  if (part.to != nullptr && part.bytes() > 0)
    memory.expect_device(member.device, part.to, part.bytes(), "what is received");
}

ncclResult_t add(const char* name, ncclComm_t communicator, const Part& part, cudaStream_t stream) {
  const Call call(name);
  Member& member = member_for_call(communicator);
  check(call, member, part, stream);
  if (part.kind == Part::Kind::send) {
    ++machine().issued.messages;
    machine().issued.message_bytes += static_cast<std::int64_t>(part.bytes());
  }
  if (group.depth == 0) {
    queue(call, {communicator->member, stream, {part}});
    return accepted(member);
  }
  for (Batch& batch : group.batches)
    if (batch.member == communicator->member) {
      if (batch.stream != stream) fail("a group with two streams of one communicator");
      batch.parts.push_back(part);
      return ncclSuccess;
    }
  group.batches.push_back({communicator->member, stream, {part}});
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return add("ncclSend", communicator,
             {.kind = Part::Kind::send, .peer = peer, .from = data, .count = count, .type = type},
             stream);
}

ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return add("ncclRecv", communicator,
             {.kind = Part::Kind::receive, .peer = peer, .to = data, .count = count, .type = type},
             stream);
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (operation != ncclSum) fail("NCCL's reduction ", operation, " is not emulated");
  return add("ncclAllReduce", communicator,
             {.kind = Part::Kind::all_reduce, .from = from, .to = to, .count = count, .type = type},
             stream);
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  const Call call("ncclGroupEnd");
  if (group.depth == 0) fail("no group was started");
  if (--group.depth > 0) return ncclSuccess;
  ncclResult_t status = ncclSuccess;
  for (Batch& batch : std::exchange(group.batches, {})) {
    Member& member = *batch.member;
    queue(call, std::move(batch));
    if (accepted(member) == ncclInProgress) status = ncclInProgress;
  }
  return status;
}
