#pragma once

#include "layers/backend.h"
#include "layers/cuda/convolution/convolution.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/products/product.h"

namespace penstock::layers {

/// A backend on one CUDA device. Only the thread that made it may use it. Each family of operations
/// has a file in a folder beside this one. No operation adds floating-point numbers in an order
/// that changes from run to run.
class CudaBackend final : public Backend {
 public:
  CudaBackend(int device, Fp32Products products);

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

  /// Specialised for each operation in the operation's own file; called by run().
  template <class Operation>
  void compute(Stream& stream, const Operation& op);

 private:
  int device_;
  Fp32Products fp32_products_;
  cuda::Products products_;
  cuda::Convolutions convolutions_;
};

}  // namespace penstock::layers
