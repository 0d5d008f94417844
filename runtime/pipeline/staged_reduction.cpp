#include "runtime/pipeline/staged_reduction.h"

#include <thread>

#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {
namespace {

std::vector<layers::Buffer> copies_of(layers::Backend& backend, const comm::LaneReductionPlan& plan,
                                      std::size_t lanes) {
  const auto elements =
      static_cast<std::size_t>(plan.bucket_ends.empty() ? 0 : plan.bucket_ends.back());
  std::vector<layers::Buffer> copies;
  for (std::size_t lane = 0; lane < lanes; ++lane)
    copies.push_back(backend.allocate_host(elements * layers::size_of(plan.dtype)));
  return copies;
}

std::vector<std::byte*> addresses(const std::vector<layers::Buffer>& buffers) {
  std::vector<std::byte*> addresses;
  for (const layers::Buffer& buffer : buffers) addresses.push_back(buffer.data());
  return addresses;
}

}  // namespace

// Copies each bucket to the host after its gradients are complete, reduces the copies with
// LaneReduction, and copies the sums back in finish(). The copies take one gradient arena of pinned
// host memory per lane.

StagedReduction::StagedReduction(layers::Backend& backend, layers::Stream& computing,
                                 comm::Communicator& replicas, const comm::LaneReductionPlan& plan,
                                 const std::vector<std::byte*>& arenas)
    : backend_(backend),
      computing_(computing),
      out_(backend.make_stream()),
      replicas_(replicas),
      plan_(plan),
      arenas_(arenas),
      copies_(copies_of(backend, plan, arenas.size())),
      lanes_(replicas, plan, addresses(copies_)) {}

void StagedReduction::start(int bucket) {
  backend_.wait(*out_, *backend_.record(computing_));
  for (std::size_t lane = 0; lane < arenas_.size(); ++lane) {
    const layers::Tensor from = bucket_of(arenas_[lane], plan_, bucket);
    backend_.copy_out_async(*out_, bucket_of(copies_[lane].data(), plan_, bucket).data, from.data,
                            from.bytes());
  }
  leaving_.push_back({bucket, backend_.record(*out_)});
}

// Buckets start in the order of start(), even if a later copy ends first, since all replicas must
// agree on the order.
void StagedReduction::progress() {
  for (; !leaving_.empty() && leaving_.front().second->query(); leaving_.pop_front())
    lanes_.start(leaving_.front().first);
  lanes_.progress();
}

void StagedReduction::finish() {
  while (progress(), !leaving_.empty()) {
    replicas_.progress();
    std::this_thread::yield();
  }
  lanes_.finish();
  for (int bucket = 0; bucket < static_cast<int>(plan_.bucket_ends.size()); ++bucket) {
    const layers::Tensor to = summed_of(arenas_[0], plan_, bucket, replicas_.rank());
    const layers::Tensor from = summed_of(copies_[0].data(), plan_, bucket, replicas_.rank());
    backend_.copy_in_async(computing_, to.data, from.data, to.bytes());
  }
}

/// Gathers through lane 0's host copy. The sums have been copied to the device by then. The copy is
/// large enough, because no arena is larger than the gradients.
void StagedReduction::gather(const SharedArena& arena) {
  std::byte* const host = copies_[0].data();
  const auto own = static_cast<std::size_t>(replicas_.rank());
  for (const auto& [begin, end] : arena.of_replicas[own])
    backend_.copy_out_async(computing_, host + begin, arena.data + begin, end - begin);
  backend_.synchronize(computing_);
  comm::all_gather(replicas_, parts_of(arena, host));
  for (std::size_t replica = 0; replica < arena.of_replicas.size(); ++replica)
    for (const auto& [begin, end] : arena.of_replicas[replica])
      if (replica != own)
        backend_.copy_in_async(computing_, arena.data + begin, host + begin, end - begin);
}

}  // namespace penstock::runtime
