#pragma once

#include "layers/backend.h"
#include "layers/tensor/dtype.h"

namespace penstock::layers {

/// The backend on the CPU, by Eigen, OpenBLAS, oneDNN and kernels of our own. Each family of
/// operations has a file in this folder.
class CpuBackend : public Backend {
 public:
  explicit CpuBackend(int threads);

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override;
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
  void wait(Stream&, const Event&) override {}
  void synchronize(Stream&) override {}

  /// Specialised for each operation in the operation's own file; called by run().
  template <class Operation>
  void compute(Stream& stream, const Operation& op);

 private:
  int threads_;
};

[[noreturn]] void throw_not_real(DType dtype, const char* operation);

/// Calls `work` with a float or a double, as `dtype` says: the types that CPU kernels are compiled
/// for. Throws DeviceError with the operation's name for any other dtype.
template <class Work>
void for_real(DType dtype, const char* operation, Work work) {
  switch (dtype) {
    case DType::f32:
      return work(float{});
    case DType::f64:
      return work(double{});
    default:
      throw_not_real(dtype, operation);
  }
}

}  // namespace penstock::layers
