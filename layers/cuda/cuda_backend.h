#pragma once

#include "layers/backend.h"
#include "layers/cuda/convolution.h"
#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/product.h"

namespace penstock {

/// One CUDA device, used by the thread that made the backend; one family of operations per file of
/// this folder. Nothing adds floating-point numbers in an order that changes from run to run.
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device);

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string description() const override;
  std::string model() const override;
  std::size_t free_memory() const override;
  Buffer allocate(std::size_t bytes) override;
  std::unique_ptr<Stream> make_stream(std::function<void()> progress) override;
  void copy_in(Stream&, void* device, const void* host, std::size_t bytes) override;
  void copy_out(Stream&, void* host, const void* device, std::size_t bytes) override;
  void zero(Stream&, void* device, std::size_t bytes) override;
  void copy(Stream&, void* to, const void* from, std::size_t bytes) override;
  Buffer allocate_host(std::size_t bytes) override;
  void copy_in_async(Stream&, void* device, const void* host, std::size_t bytes) override;
  void copy_out_async(Stream&, void* host, const void* device, std::size_t bytes) override;
  std::unique_ptr<Event> record(Stream&) override;
  void wait(Stream&, const Event&) override;
  void synchronize(Stream&) override;

  using Backend::run;
  void run(Stream&, const LinearForward&) override;
  void run(Stream&, const LinearBackwardInput&) override;
  void run(Stream&, const LinearBackwardWeight&) override;
  void run(Stream&, const Conv2dForward&) override;
  void run(Stream&, const Conv2dBackwardInput&) override;
  void run(Stream&, const Conv2dBackwardWeight&) override;
  void run(Stream&, const BatchNormForward&) override;
  void run(Stream&, const BatchNormInference&) override;
  void run(Stream&, const BatchNormBackwardInput&) override;
  void run(Stream&, const BatchNormBackwardWeight&) override;
  void run(Stream&, const ClippedReluForward&) override;
  void run(Stream&, const ClippedReluBackward&) override;
  void run(Stream&, const RecurrenceForward&) override;
  void run(Stream&, const RecurrenceBackwardInput&) override;
  void run(Stream&, const RecurrenceBackwardWeight&) override;
  void run(Stream&, const LookaheadForward&) override;
  void run(Stream&, const LookaheadBackwardInput&) override;
  void run(Stream&, const LookaheadBackwardWeight&) override;
  void run(Stream&, const DropoutForward&) override;
  void run(Stream&, const DropoutBackward&) override;
  void run(Stream&, const CtcLoss&) override;
  void run(Stream&, const Cast&) override;
  void run(Stream&, const SquaredSums&) override;
  void run(Stream&, const LargestMagnitude&) override;
  void run(Stream&, const GradientNorm&) override;
  void run(Stream&, const AddInto&) override;
  void run(Stream&, const AdamWStep&) override;
  void run(Stream&, const LambDirection&) override;
  void run(Stream&, const SgdStep&) override;

 private:
  int device_;
  cuda::Products products_;
  cuda::Convolutions convolutions_;
};

}  // namespace penstock
