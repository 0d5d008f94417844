#pragma once

#include <cudnn.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "layers/cuda/convolution.h"

namespace penstock::layers::cuda {

/// DeviceError "<doing>: <cuDNN's text> (<its reason>)" unless `status` is success.
void check(cudnnStatus_t status, std::string_view doing);

/// cuDNN's descriptors of a convolution's operands, given back with the object.
class ConvolutionDescription {
 public:
  /// DeviceError for dtypes that have no convolution, and images beyond 2³¹ numbers.
  explicit ConvolutionDescription(const Convolution& convolution);

  /// The convolution's math type is what the heuristic may list, and then that of the algorithm
  /// which is asked for its workspace, or run.
  void use(cudnnMathType_t math) const;

  cudnnTensorDescriptor_t in() const { return in_.get(); }
  cudnnTensorDescriptor_t out() const { return out_.get(); }
  cudnnFilterDescriptor_t filter() const { return filter_.get(); }
  cudnnConvolutionDescriptor_t convolution() const { return convolution_.get(); }

 private:
  template <class T, cudnnStatus_t (*destroy)(T)>
  struct Destroy {
    using pointer = T;
    void operator()(T handle) const { destroy(handle); }
  };
  template <class T, cudnnStatus_t (*destroy)(T)>
  using Handle = std::unique_ptr<std::remove_pointer_t<T>, Destroy<T, destroy>>;
  using TensorHandle = Handle<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
  using FilterHandle = Handle<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
  using ConvolutionHandle = Handle<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

  static TensorHandle image(DType dtype, std::int64_t rows, std::int64_t frequencies,
                            std::int64_t channels);
  static FilterHandle filter_of(const Convolution& convolution);
  static ConvolutionHandle convolution_of(const Convolution& convolution);

  TensorHandle in_, out_;
  FilterHandle filter_;
  ConvolutionHandle convolution_;
};

/// For messages.
std::string text_of(const Convolution& convolution);

}  // namespace penstock::layers::cuda
