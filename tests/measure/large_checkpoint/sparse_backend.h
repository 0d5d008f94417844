#pragma once

#include "layers/cpu/halves/half_backend.h"
#include "layers/ops/elementwise.h"

namespace penstock::test {

/// A device whose memory takes room only where something else than zeros has been written: so
/// many ranks of a large model fit one machine. The host reaches it by copies alone, as it does a
/// GPU's. Its pinned memory is of the same kind. Nothing computes on it.
class SparseBackend final : public layers::HalfCpuBackend {
 public:
  SparseBackend() : layers::HalfCpuBackend(1) { operations_.set<SparseBackend, layers::Cast>(); }

  layers::DeviceKind kind() const override { return layers::DeviceKind::cuda; }
  layers::Buffer allocate(std::size_t bytes) override;
  layers::Buffer allocate_host(std::size_t bytes) override;
  void zero(layers::Stream&, void* device, std::size_t bytes) override;
  void copy_in(layers::Stream&, void* device, const void* host, std::size_t bytes) override;
  void copy(layers::Stream&, void* to, const void* from, std::size_t bytes) override;
  void copy_out_async(layers::Stream&, void* host, const void* device, std::size_t bytes) override;
  void compute(layers::Stream&, const layers::Cast&) {}  // nothing reads the result

  /// Whether what the host copies in is forgotten: a model's first weights, which are no zeros.
  void forget(bool forgets) { forgets_ = forgets; }
  /// Bytes that have been asked for, of the device.
  std::size_t allocated() const { return allocated_; }

 private:
  bool forgets_ = false;
  std::size_t allocated_ = 0;
};

}  // namespace penstock::test
