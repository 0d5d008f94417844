#include "runtime/pipeline/nccl_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/bit_reversal.h"
#include "layers/ops/optimizer.h"
#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {
namespace {

std::span<std::byte> bytes_of(const layers::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data), tensor.bytes()};
}

}  // namespace

// Both reductions enqueue everything on one stream, which waits for the computing stream in
// start(); finish() makes the computing stream wait in turn. In ReductionOrder::lanes, rounds come
// from sum_rounds() and gather_rounds(). For R = 2^k replicas with equally many lanes, a bucket
// takes 2 log2 R rounds. Every rank then sends (R − 1) / R of it each way
// (docs/design/gradient-sums.md). A round is one grouped NCCL exchange followed by the additions on
// the device.

std::size_t nccl_staging_bytes(const comm::LaneReductionPlan& plan, int replica) {
  const comm::TreeRounds sums = comm::sum_rounds(plan.lanes_of, replica);
  std::size_t max = 0;
  for (int bucket = 0; bucket < static_cast<int>(plan.bucket_ends.size()); ++bucket)
    max = std::max(max, comm::bucket_staging_bytes(plan, sums, bucket, replica));
  return max;
}

NcclReduction::NcclReduction(layers::Backend& backend, layers::Stream& computing,
                             comm::Communicator& replicas, const comm::LaneReductionPlan& plan,
                             const std::vector<std::byte*>& arenas, ReductionOrder order)
    : backend_(backend),
      computing_(computing),
      replicas_(replicas),
      plan_(plan),
      arenas_(arenas),
      order_(order),
      sums_(comm::sum_rounds(plan.lanes_of, replicas.rank())),
      gathers_(comm::gather_rounds(replicas.size(), replicas.rank())),
      staging_(backend.allocate(
          order == ReductionOrder::lanes ? nccl_staging_bytes(plan, replicas.rank()) : 0)),
      stream_(backend.make_stream()),
      nccl_(comm::make_nccl(replicas,
                            {.stream = stream_->native(), .name = "gradients of replicas"})) {
  connect();
}

/// Sends a byte between all peers, because NCCL connects two ranks at their first message. For
/// NCCL's all-reduce it also runs every bucket once: NCCL connects at the first sum of each kind,
/// and the bucket's size decides the kind.
void NcclReduction::connect() {
  const std::vector<int> peers = comm::tree_peers(plan_.lanes_of, replicas_.rank());
  const layers::Buffer bytes = backend_.allocate(2 * peers.size());
  backend_.zero(*stream_, bytes.data(), bytes.bytes());
  std::vector<comm::NcclExchange> parts;
  for (std::size_t i = 0; i < peers.size(); ++i)
    parts.push_back({peers[i], {bytes.data() + i, 1}, {bytes.data() + peers.size() + i, 1}});
  comm::guarded(replicas_.shutdown(), [&] {  // the bytes must outlive the messages
    comm::wait(*nccl_, *nccl_->exchange(parts, "the first bytes"));
    if (order_ == ReductionOrder::lanes) return;
    for (int bucket = 0; bucket < static_cast<int>(plan_.bucket_ends.size()); ++bucket)
      start(bucket);
    finish();
  });
}

void NcclReduction::start(int bucket) {
  backend_.wait(*stream_, *backend_.record(computing_));
  if (order_ == ReductionOrder::library) return add_by_library(bucket);
  for (const auto& round : sums_) add_round(bucket, round);
  if (plan_.owned_ends.empty()) gather(bucket);
}

// NCCL sums one array for each rank, so lanes are added first, on the device.
void NcclReduction::add_by_library(int bucket) {
  const layers::Tensor sum = bucket_of(arenas_[0], plan_, bucket);
  for (std::byte* lane : std::span(arenas_).subspan(1))
    backend_.run(*stream_, layers::AddInto{bucket_of(lane, plan_, bucket), sum});
  nccl_->all_reduce({sum.as<float>(), static_cast<std::size_t>(sum.size())});
}

void NcclReduction::finish() { backend_.wait(computing_, *backend_.record(*stream_)); }

// The tree of gather_rounds() counts places, and place i belongs to replica bit_reversed(…)[i].
void NcclReduction::gather(const SharedArena& arena) {
  backend_.wait(*stream_, *backend_.record(computing_));
  const std::vector<int> replicas = bit_reversed(replicas_.size());
  for (const auto& round : gathers_) {
    std::vector<comm::NcclExchange> parts;
    for (const auto& [from, to, places] : round)
      for (const int place : places)
        for (const auto& [begin, end] : arena.of_replicas[static_cast<std::size_t>(
                 replicas[static_cast<std::size_t>(place)])]) {
          const std::span<std::byte> part(arena.data + begin, end - begin);
          parts.push_back(from.replica == replicas_.rank()
                              ? comm::NcclExchange{to.replica, part, {}}
                              : comm::NcclExchange{from.replica, {}, part});
        }
    nccl_->exchange(parts, "what layers read, of replicas that own it");
  }
  finish();
}

/// Exchanges the lanes of a round, then adds them. Lanes of other replicas arrive in the staging
/// memory, which is free again because the stream has finished the previous round.
void NcclReduction::add_round(int bucket, const std::vector<comm::TreeTransfer>& round) {
  std::vector<comm::NcclExchange> parts;
  std::vector<layers::AddInto> additions;
  std::byte* staged = staging_.data();
  for (const auto& [from, to, places] : round)
    for (const comm::ElementRange& run : comm::lane_runs(plan_, bucket, places)) {
      const auto of_lane = [&](int lane) {
        return elements_of(arenas_[static_cast<std::size_t>(lane)], plan_.dtype, run);
      };
      if (to.replica != replicas_.rank()) {
        parts.push_back({to.replica, bytes_of(of_lane(from.lane)), {}});
        continue;
      }
      const layers::Tensor sum = of_lane(to.lane);
      layers::Tensor other = sum;
      if (from.replica == replicas_.rank()) {
        other = of_lane(from.lane);
      } else {
        other.data = staged;
        staged += other.bytes();
        parts.push_back({from.replica, {}, bytes_of(other)});
      }
      additions.push_back({other, sum});
    }
  if (!parts.empty()) nccl_->exchange(parts, fmt::format("gradients of bucket {}", bucket));
  for (const layers::AddInto& addition : additions) backend_.run(*stream_, addition);
}

/// Sends the sums to every replica. They overwrite the partial sums, which are not needed any more.
void NcclReduction::gather(int bucket) {
  for (const auto& round : gathers_) {
    std::vector<comm::NcclExchange> parts;
    for (const auto& [from, to, places] : round)
      for (const comm::ElementRange& run : comm::lane_runs(plan_, bucket, places)) {
        const auto sums = bytes_of(elements_of(arenas_[0], plan_.dtype, run));
        parts.push_back(from.replica == replicas_.rank()
                            ? comm::NcclExchange{to.replica, sums, {}}
                            : comm::NcclExchange{from.replica, {}, sums});
      }
    if (!parts.empty())
      nccl_->exchange(parts, fmt::format("summed gradients of bucket {}", bucket));
  }
}

}  // namespace penstock::runtime
