#pragma once

#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/emulated_cuda/emulation/device/words.h"
#include "tests/emulated_cuda/emulation/launch.h"

namespace emulated_cuda {

template <class... Parameters>
class CallOf final : public KernelCall {
 public:
  using Kernel = void (*)(Parameters...);
  template <class... Arguments>
  explicit CallOf(Kernel kernel, Arguments&&... arguments)
      : kernel_(kernel), arguments_(std::forward<Arguments>(arguments)...) {}

  EMULATED_CUDA_UNOBSERVED void run() const override {
    run(std::index_sequence_for<Parameters...>{});
  }
  void check_arguments() const {
    std::apply([](const auto&... argument) { (check(argument), ...); }, arguments_);
  }

 private:
  template <std::size_t... places>
  EMULATED_CUDA_UNOBSERVED void run(std::index_sequence<places...>) const {
    kernel_(std::get<places>(arguments_)...);
  }

  /// Pointers, and whatever in a struct of pointers and sizes may be one.
  template <class T>
  static void check(const T& argument) {
    static_assert(std::is_trivially_copyable_v<T>);
    if constexpr (std::is_pointer_v<T>) {
      check_kernel_argument(argument);
    } else if constexpr (std::is_class_v<T> && alignof(T) == alignof(void*)) {
      T cleared = argument;
      EMULATED_CUDA_CLEAR_PADDING(&cleared);  // what compilers leave there can look like a pointer
      for (std::size_t place = 0; place + sizeof(void*) <= sizeof(T); place += sizeof(void*)) {
        const void* pointer = nullptr;
        std::memcpy(&pointer, reinterpret_cast<const char*>(&cleared) + place, sizeof pointer);
        check_kernel_word(pointer);
      }
    }
  }

  Kernel kernel_;
  std::tuple<Parameters...> arguments_;
};

template <class... Parameters, class... Arguments>
cudaError_t launch_kernel(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                          Arguments&&... arguments) {
  auto call =
      std::make_unique<const CallOf<Parameters...>>(kernel, std::forward<Arguments>(arguments)...);
  call->check_arguments();
  return queue_launch({config->gridDim, config->blockDim, config->dynamicSmemBytes,
                       reinterpret_cast<const void*>(kernel), std::move(call)},
                      config->stream);
}

}  // namespace emulated_cuda

/// NVIDIA's is a template that forgets the types of the arguments.
#define cudaLaunchKernelEx ::emulated_cuda::launch_kernel
