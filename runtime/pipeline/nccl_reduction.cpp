#include "runtime/pipeline/nccl_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "layers/ops/optimizer.h"
#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {
namespace {

std::span<std::byte> bytes_of(const layers::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data), tensor.bytes()};
}

}  // namespace

std::size_t nccl_staging_bytes(const comm::LaneReductionPlan& plan, int replica) {
  const int lanes = std::accumulate(plan.lanes_of.begin(), plan.lanes_of.end(), 0);
  const auto others =
      static_cast<std::size_t>(lanes - plan.lanes_of[static_cast<std::size_t>(replica)]);
  std::size_t most = 0;
  for (int bucket = 0; bucket < static_cast<int>(plan.bucket_ends.size()); ++bucket) {
    const auto [begin, end] = comm::lane_piece(plan, bucket, replica);
    most = std::max(most,
                    others * static_cast<std::size_t>(end - begin) * layers::size_of(plan.dtype));
  }
  return most;
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
      staging_(backend.allocate(
          order == ReductionOrder::lanes ? nccl_staging_bytes(plan, replicas.rank()) : 0)),
      stream_(backend.make_stream()),
      nccl_(comm::make_nccl(replicas,
                            {.stream = stream_->native(), .name = "gradients of replicas"})) {
  connect();
}

/// A byte from each to each, since NCCL connects two ranks at their first message, and for sums at
/// the first of each kind, which a bucket's size decides.
void NcclReduction::connect() {
  const auto size = static_cast<std::size_t>(replicas_.size());
  const layers::Buffer bytes = backend_.allocate(2 * size);
  backend_.zero(*stream_, bytes.data(), bytes.bytes());
  std::vector<comm::NcclExchange> parts;
  for (std::size_t replica = 0; replica < size; ++replica)
    if (static_cast<int>(replica) != replicas_.rank())
      parts.push_back({static_cast<int>(replica),
                       {bytes.data() + replica, 1},
                       {bytes.data() + size + replica, 1}});
  comm::guarded(replicas_.shutdown(), [&] {  // bytes can't be freed while messages wait
    comm::wait(*nccl_, *nccl_->exchange(parts, "the first bytes"));
    if (order_ == ReductionOrder::lanes) return;
    for (int bucket = 0; bucket < static_cast<int>(plan_.bucket_ends.size()); ++bucket)
      start(bucket);
    finish();
  });
}

layers::Tensor NcclReduction::piece(std::byte* arena, int bucket, int replica) const {
  const auto [begin, end] = comm::lane_piece(plan_, bucket, replica);
  return {arena + static_cast<std::size_t>(begin) * layers::size_of(plan_.dtype),
          plan_.dtype,
          {end - begin}};
}

void NcclReduction::start(int bucket) {
  backend_.wait(*stream_, *backend_.record(computing_));
  if (order_ == ReductionOrder::library) return add_by_library(bucket);
  const std::vector<layers::Tensor> lanes = scatter(bucket);
  add(bucket, lanes);
  if (plan_.owned_ends.empty()) gather(bucket);
}

void NcclReduction::add_by_library(int bucket) {
  const layers::Tensor sum = bucket_of(arenas_[0], plan_, bucket);
  for (std::byte* lane : std::span(arenas_).subspan(1))
    backend_.run(*stream_, layers::AddInto{bucket_of(lane, plan_, bucket), sum});
  nccl_->all_reduce({sum.as<float>(), static_cast<std::size_t>(sum.size())});
}

void NcclReduction::finish() { backend_.wait(computing_, *backend_.record(*stream_)); }

void NcclReduction::gather(const SharedArena& arena) {
  backend_.wait(*stream_, *backend_.record(computing_));
  for (std::size_t i = 0; i < arena.of_replicas.front().size(); ++i) {
    const auto range = [&](int replica) {
      const auto [begin, end] = arena.of_replicas[static_cast<std::size_t>(replica)][i];
      return std::span(arena.data + begin, end - begin);
    };
    std::vector<comm::NcclExchange> parts;
    for (int replica = 0; replica < replicas_.size(); ++replica)
      if (replica != replicas_.rank())
        parts.push_back({replica, range(replicas_.rank()), range(replica)});
    nccl_->exchange(parts, "what layers read, of replicas that own it");
  }
  finish();
}

/// Every lane's piece goes to the replica that adds it up. Returns this replica's, of all lanes.
std::vector<layers::Tensor> NcclReduction::scatter(int bucket) {
  std::vector<layers::Tensor> lanes;
  std::vector<comm::NcclExchange> parts;
  std::byte* staged = staging_.data();
  for (int replica = 0; replica < replicas_.size(); ++replica) {
    if (replica == replicas_.rank()) {
      for (std::byte* arena : arenas_) lanes.push_back(piece(arena, bucket, replica));
      continue;
    }
    for (int lane = 0; lane < plan_.lanes_of[static_cast<std::size_t>(replica)]; ++lane) {
      layers::Tensor other = piece(arenas_[0], bucket, replicas_.rank());
      other.data = staged;
      staged += other.bytes();
      lanes.push_back(other);
      parts.push_back({replica, {}, bytes_of(other)});
    }
    for (std::byte* arena : arenas_)
      parts.push_back({replica, bytes_of(piece(arena, bucket, replica)), {}});
  }
  nccl_->exchange(parts, fmt::format("gradients of bucket {}", bucket));
  return lanes;
}

/// The sum grows in the memory of lane 0: whatever lies there is not needed any more.
void NcclReduction::add(int bucket, const std::vector<layers::Tensor>& lanes) {
  const layers::Tensor& sum = lanes.front();
  if (sum.size() == 0) return;
  for (const layers::Tensor& lane : std::span(lanes).subspan(1))
    backend_.run(*stream_, layers::AddInto{lane, sum});
  const layers::Tensor own = piece(arenas_[0], bucket, replicas_.rank());
  if (sum.data != own.data) backend_.copy(*stream_, own.data, sum.data, sum.bytes());
}

/// Sums go to every replica, over what scatter() has sent.
void NcclReduction::gather(int bucket) {
  std::vector<comm::NcclExchange> parts;
  for (int replica = 0; replica < replicas_.size(); ++replica)
    if (replica != replicas_.rank())
      parts.push_back({replica, bytes_of(piece(arenas_[0], bucket, replicas_.rank())),
                       bytes_of(piece(arenas_[0], bucket, replica))});
  nccl_->exchange(parts, fmt::format("summed gradients of bucket {}", bucket));
}

}  // namespace penstock::runtime
