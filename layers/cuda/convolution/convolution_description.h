#pragma once

#include <cudnn.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "layers/cuda/convolution/convolution.h"

namespace penstock::layers::cuda {

/// Throws DeviceError "<doing>: <cuDNN's text> (<its reason>)" unless `status` is success.
void check(cudnnStatus_t status, std::string_view doing);

/// cuDNN's descriptors of a convolution's operands, destroyed with the object.
class ConvolutionDescription {
 public:
  /// Throws DeviceError for dtypes without convolutions, and for images of 2³¹ numbers or more.
  explicit ConvolutionDescription(const Convolution& convolution);

  /// Sets the convolution's math type. The heuristic lists what it permits; later it is that of the
  /// algorithm whose workspace is asked for or which is run.
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

/// Describes the convolution in error messages.
std::string text_of(const Convolution& convolution);

}  // namespace penstock::layers::cuda
