#include "runtime/pipeline/stage_reduction.h"

#include "runtime/pipeline/gradient_buckets.h"

namespace penstock::runtime {
namespace {

std::vector<std::byte*> lane_arenas(const ParameterStore& store) {
  std::vector<std::byte*> arenas;
  for (int lane = 0; lane < store.lanes(); ++lane)
    arenas.push_back(store.gradient_arena(lane).data());
  return arenas;
}

}  // namespace

StageReduction::StageReduction(layers::Backend& backend, layers::Stream& stream,
                               const RankGrid& grid, Stage& stage, const Options& options)
    : store_(stage.parameters()),
      plan_(gradient_buckets(store_.layout(), options.lanes_of, options.bucket_bytes)),
      reduction_(make_gradient_reduction({backend, stream, grid.replicas(), plan_,
                                          lane_arenas(store_), options.links, options.order})),
      tied_(backend, stream, grid, stage),
      whole_(stage.layers()) {}

void StageReduction::begin() {
  next_bucket_ = static_cast<int>(plan_.bucket_ends.size());
  whole_.assign(whole_.size(), false);
  complete_from_ = whole_.size();
}

void StageReduction::layer_complete(std::size_t layer) {
  whole_[layer] = true;
  if (layer + 1 != complete_from_) return;
  while (complete_from_ > 0 && whole_[complete_from_ - 1]) --complete_from_;
  start_buckets(store_.arena_offset(complete_from_));
}

/// Starts every bucket whose elements all belong to complete layers. Chunks complete one after
/// another, in an order that may differ between replicas with unequal numbers of micro-batches.
/// Buckets still start from the last to the first on all replicas, as NCCL requires.
void StageReduction::start_buckets(std::size_t whole_from) {
  const auto begin = [&](int bucket) {
    return static_cast<std::size_t>(comm::bucket_begin(plan_, bucket)) *
           layers::size_of(plan_.dtype);
  };
  while (next_bucket_ > 0 && begin(next_bucket_ - 1) >= whole_from)
    reduction_->start(--next_bucket_);
}

void StageReduction::gather() {
  if (store_.shared()) reduction_->gather(store_.shared_arena());
  tied_.send_weights();
}

}  // namespace penstock::runtime
