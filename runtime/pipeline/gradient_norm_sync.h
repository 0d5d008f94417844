#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/disjoint_sum.h"
#include "comm/nccl.h"
#include "layers/backend.h"
#include "layers/ops/norms.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/parameter_store.h"
#include "runtime/pipeline/rank_grid.h"

namespace penstock::runtime {

/// Channels of the norms' NCCL communicator. One is enough for so few numbers.
inline constexpr int kNormChannels = 1;

/// Computes the same gradient norm and skip decision on all ranks. Each rank contributes the
/// squared sums of its norm blocks, every rank receives all of them, and all compute the same
/// result. Each number comes from exactly one rank, so the order of additions has no effect. If
/// ranks communicate over NCCL, or there is only one, the numbers stay on the device and the host
/// does not wait. Otherwise they pass through the host.
class GradientNormSync {
 public:
  struct Options {
    std::int64_t model_blocks = 0;
    double clip_norm = 0;
    bool largest = false;  // true if the result must include the largest magnitude
    DeviceLinks links = DeviceLinks::host;
  };
  /// Collective: every rank constructs it, and NCCL connects. All arguments but `options` must
  /// outlive it.
  GradientNormSync(layers::Backend& backend, layers::Stream& computing, const RankGrid& grid,
                   const Options& options);

  /// True if sync() does not block the host.
  bool on_device() const { return on_device_; }

  /// Computes the result on the gradients in lane 0's arena, which belong to a loss times
  /// `loss_scale`. The result is in the backend's memory, for work that is enqueued on the
  /// computing stream after this call. Unless on_device(), `told` is summed over the ranks in the
  /// same message.
  const layers::GradientNormResult* sync(const ParameterStore& store, double loss_scale,
                                         std::span<double> told);

  /// Waits for the result of sync() and returns it.
  layers::GradientNormResult result();
  /// Returns the same without waiting. The computing stream must have been synchronised since
  /// sync().
  const layers::GradientNormResult& landed() const { return result_; }

  // The next four replace sync() if no rank may wait for the others. They are called in this order.

  /// Computes the result from this rank's numbers alone. The other ranks' numbers can only lower
  /// the clip factor or cause a skip.
  const layers::GradientNormResult* local_result(const ParameterStore& store, double loss_scale);
  /// Starts sending this rank's numbers and `told` to all ranks. If on_device() is false, the
  /// measured numbers must be unchanged since local_result().
  void start(std::span<const double> told);
  /// Waits for all ranks and returns the common result. `told` becomes its sum over the ranks.
  layers::GradientNormResult await(std::span<double> told);
  /// The result that await() returned, in the backend's memory.
  const layers::GradientNormResult* awaited() const { return result_at(0); }

  /// Returns the squared sums of all norm blocks of the model. Waits for the computing stream.
  std::vector<double> squared_sums();
  /// Workspace of one number per norm block of the model, in the backend's memory. It overlaps the
  /// squared sums, so it may be used only after the result is computed.
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
  std::size_t count() const;  // numbers that ranks exchange
  void measure(const ParameterStore& store);
  void combine(layers::Stream& stream, double loss_scale, layers::GradientNormResult* result);
  std::unique_ptr<comm::Transfer> sum_over_nccl();
  void exchange(std::span<double> told);
  std::vector<double> with_numbers(std::span<const double> told);
  layers::GradientNormResult result_on(layers::Stream& stream);

  layers::Backend& backend_;
  layers::Stream& computing_;
  const RankGrid& grid_;
  Options options_;
  bool on_device_;
  layers::Buffer numbers_;  // squared sums of all blocks, then largest magnitudes
  layers::Buffer results_;  // the common result, then this rank's own
  /// Result of sync(). It is valid once the computing stream has copied it.
  layers::GradientNormResult result_;
  std::unique_ptr<layers::Stream> stream_;  // NCCL's, if ranks communicate over it
  std::unique_ptr<comm::NcclCommunicator> nccl_;
  double loss_scale_ = 1;  // loss scale of the step whose result is awaited
  std::optional<comm::DisjointSum> asked_;
  std::unique_ptr<comm::Transfer> summing_;  // sum over NCCL in flight
};

}  // namespace penstock::runtime
