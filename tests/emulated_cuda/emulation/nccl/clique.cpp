#include "tests/emulated_cuda/emulation/nccl/clique.h"

#include <algorithm>
#include <cstring>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/machine.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda::nccl {
namespace {

/// Begins an operation of the part's stream, after all that the stream has done and after `others`.
void begin(const Part& part, const Clock& others) {
  part.stream->clock.join(others);
  part.stream->clock.advance(part.stream->line);
  watch().operation_begins(part.stream->line, part.stream->clock);
}

std::vector<std::byte> read(const Part& part) {
  begin(part, {});
  watch().operation_reads(part.from, part.bytes());
  const auto* data = static_cast<const std::byte*>(part.from);
  return {data, data + part.bytes()};
}

void write(Part& part, const std::vector<std::byte>& data, const Clock& known) {
  begin(part, known);
  watch().operation_writes(part.to, data.size());
  if (!data.empty()) std::memcpy(part.to, data.data(), data.size());
  part.done = true;
}

template <class T>
void add(std::vector<std::byte>& sums, const std::vector<std::byte>& values) {
  for (std::size_t at = 0; at < sums.size(); at += sizeof(T)) {
    T sum, value;
    std::memcpy(&sum, &sums[at], sizeof sum);
    std::memcpy(&value, &values[at], sizeof value);
    sum += value;
    std::memcpy(&sums[at], &sum, sizeof sum);
  }
}

void add(ncclDataType_t type, std::vector<std::byte>& sums, const std::vector<std::byte>& values) {
  switch (type) {
    case ncclFloat32:
      return add<float>(sums, values);
    case ncclFloat64:
      return add<double>(sums, values);
    default:
      fail("sums of NCCL's data type ", type, " are not emulated");
  }
}

}  // namespace

std::size_t Part::bytes() const {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return count;
    case ncclFloat16:
    case ncclBfloat16:
      return 2 * count;
    case ncclInt32:
    case ncclFloat32:
      return 4 * count;
    case ncclInt64:
    case ncclFloat64:
      return 8 * count;
    default:
      fail("NCCL's data type ", type, " is not emulated");
  }
}

void Clique::join(int rank, int host) {
  if (rank < 0 || rank >= size_ || !hosts_.emplace(rank, host).second)
    fail("rank ", rank, " of ", size_, " does not exist, or has connected already");
}

void Clique::post(int rank, Part& part) {
  if (part.kind == Part::Kind::all_reduce) {
    collectives_[static_cast<std::size_t>(rank)].push_back(&part);
    return reduce();
  }
  const bool sends = part.kind == Part::Kind::send;
  const Edge edge = sends ? Edge{rank, part.peer} : Edge{part.peer, rank};
  (sends ? sends_ : receives_)[edge].push_back(&part);
  match(edge);
}

void Clique::match(const Edge& edge) {
  std::deque<Part*>&sends = sends_[edge], &receives = receives_[edge];
  if (!lost_.empty() || sends.empty() || receives.empty()) return;
  Part &send = *sends.front(), &receive = *receives.front();
  sends.pop_front();
  receives.pop_front();
  if (send.bytes() != receive.bytes())
    fail("rank ", edge.first, " sends ", send.bytes(), " bytes to rank ", edge.second,
         ", which receives ", receive.bytes());
  machine().memory.open_only(1u << send.stream->device | 1u << receive.stream->device);
  const std::vector<std::byte> data = read(send);
  send.done = true;
  write(receive, data, send.stream->clock);
}

void Clique::reduce() {
  if (!lost_.empty() || std::ranges::any_of(collectives_, &std::deque<Part*>::empty)) return;
  std::vector<Part*> parts;
  unsigned devices = 0;
  for (std::deque<Part*>& of_rank : collectives_) {
    parts.push_back(of_rank.front());
    of_rank.pop_front();
    devices |= 1u << parts.back()->stream->device;
    if (parts.back()->count != parts.front()->count || parts.back()->type != parts.front()->type)
      fail("ranks add ", parts.front()->count, " and ", parts.back()->count,
           " numbers, or such of different types");
  }
  machine().memory.open_only(devices);
  std::vector<std::byte> sums;
  Clock known;
  for (const Part* part : parts) {
    const std::vector<std::byte> values = read(*part);
    known.join(part->stream->clock);
    if (part == parts.front())
      sums = values;
    else
      add(part->type, sums, values);
  }
  for (Part* part : parts) write(*part, sums, known);
}

void Clique::lose(int rank) { lost_.insert(rank); }

bool Clique::loss_shows_at(int rank) const {
  return std::ranges::any_of(lost_, [&](int lost) { return hosts_.at(lost) != hosts_.at(rank); });
}

}  // namespace emulated_cuda::nccl
