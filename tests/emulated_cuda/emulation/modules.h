#pragma once

#include <set>
#include <utility>

namespace emulated_cuda {

/// Which kernels lie on which device. CUDA reads how it loads them from CUDA_MODULE_LOADING, at its
/// first call.
class Modules {
 public:
  /// Reads the mode from the process's environment.
  Modules();
  /// `mode` as in the environment; null where nothing is set there.
  explicit Modules(const char* mode);

  bool loaded(int device, const void* kernel) const {
    return eager_ || loaded_.contains({device, kernel});
  }
  void load(int device, const void* kernel) { loaded_.emplace(device, kernel); }

 private:
  bool eager_;
  std::set<std::pair<int, const void*>> loaded_;
};

}  // namespace emulated_cuda
