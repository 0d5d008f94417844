#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/disjoint_sum.h"
#include "comm/nccl.h"
#include "layers/backend.h"
#include "layers/ops/norms.h"
#include "runtime/devices/device_links.h"
#include "runtime/pipeline/parameter_store.h"
#include "runtime/pipeline/rank_grid.h"

namespace penstock::runtime {

/// NCCL's, which are as many as the few numbers need.
inline constexpr int kNormChannels = 1;

/// How all ranks come to one result on a step's gradient: each gives the squared sums of the norm
/// blocks that it has, every rank gets all, and computes the same. Each number comes from one rank,
/// so that no order of the additions shows. Where the ranks meet over NCCL, or this one is alone,
/// the numbers stay on the device and nothing waits; else they pass through the host.
class GradientNormSync {
 public:
  struct Options {
    std::int64_t model_blocks = 0;
    double clip_norm = 0;
    bool largest = false;  // whether the result is to tell the largest magnitude
    DeviceLinks links = DeviceLinks::host;
  };
  /// All ranks make theirs, and connect. All arguments must outlive it.
  GradientNormSync(layers::Backend& backend, layers::Stream& computing, const RankGrid& grid,
                   const Options& options);

  /// Whether sync() waits for nothing.
  bool on_device() const { return on_device_; }

  /// The result on the gradients in lane 0's arenas, of a loss times `loss_scale`, in the
  /// backend's memory for what the computing stream is asked for next. `told` is added up over the
  /// ranks in the same message, unless on_device().
  const layers::GradientNormResult* sync(const ParameterStore& store, double loss_scale,
                                         std::span<double> told);

  /// Waits for it.
  layers::GradientNormResult result();
  /// The same where somebody has waited for the computing stream since.
  const layers::GradientNormResult& landed() const { return result_; }

  // In place of sync(), where nobody is to wait for other ranks. In this order:

  /// As sync(), by what this rank knows alone. Whatever it lacks can only make the result worse.
  const layers::GradientNormResult* local_result(const ParameterStore& store, double loss_scale);
  /// What was measured is on its way to all ranks, and so is `told`. Where on_device() is false,
  /// nothing may have changed the numbers since.
  void start(std::span<const double> told);
  /// Waits for it: `told` is added up over the ranks.
  layers::GradientNormResult await(std::span<double> told);
  /// What await() returned, in the backend's memory.
  const layers::GradientNormResult* awaited() const { return result_at(0); }

  /// The squared sums that it came from, of the whole model; waits.
  std::vector<double> squared_sums();
  /// Room for a number for each norm block of the model, in the backend's memory, behind result().
  double* room() { return sums(); }

  void progress() {
    if (nccl_) nccl_->progress();
    if (asked_) asked_->progress();
  }

 private:
  double* sums() const { return reinterpret_cast<double*>(numbers_.data()); }
  layers::GradientNormResult* result_at(int place) const {
    return reinterpret_cast<layers::GradientNormResult*>(results_.data()) + place;
  }
  std::size_t count() const;  // of numbers
  void measure(const ParameterStore& store);
  void combine(layers::Stream& stream, double loss_scale, layers::GradientNormResult* result);
  std::unique_ptr<comm::Transfer> sum_over_nccl();
  void exchange(std::span<double> told);
  std::vector<double> numbers_behind(std::span<const double> told);
  layers::GradientNormResult result_on(layers::Stream& stream);

  layers::Backend& backend_;
  layers::Stream& computing_;
  const RankGrid& grid_;
  Options options_;
  bool on_device_;
  layers::Buffer numbers_;             // squared sums of all blocks; behind them largest magnitudes
  layers::Buffer results_;             // all ranks' own, and this one's alone
  layers::GradientNormResult result_;  // of sync(), once the computing stream has come there
  std::unique_ptr<layers::Stream> stream_;  // NCCL's
  std::unique_ptr<comm::NcclCommunicator> nccl_;
  double loss_scale_ = 1;  // of the optimistic update
  std::optional<comm::DisjointSum> asked_;
  std::unique_ptr<comm::Transfer> summing_;  // by NCCL
};

}  // namespace penstock::runtime
