// Which algorithms cuDNN has. That it convolves, the tests of penstock's convolutions show.

#include <cudnn.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

/// A convolution of 9 × 7 pixels by a filter of 3 × 3, padded by 1.
class Cudnn : public ::testing::Test {
 protected:
  Cudnn() {
    cudnnCreate(&library_);
    cudnnCreateTensorDescriptor(&in_);
    cudnnCreateTensorDescriptor(&out_);
    cudnnCreateFilterDescriptor(&filter_);
    cudnnCreateConvolutionDescriptor(&how_);
    cudnnSetConvolution2dDescriptor(how_, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                    CUDNN_DATA_FLOAT);
  }
  ~Cudnn() override {
    cudnnDestroyConvolutionDescriptor(how_);
    cudnnDestroyFilterDescriptor(filter_);
    cudnnDestroyTensorDescriptor(out_);
    cudnnDestroyTensorDescriptor(in_);
    cudnnDestroy(library_);
  }

  /// Asks for the algorithms, of which there are found_.
  cudnnStatus_t list(cudnnDataType_t type, cudnnMathType_t math, int channels) {
    cudnnSetTensor4dDescriptor(in_, CUDNN_TENSOR_NHWC, type, 1, channels, 9, 7);
    cudnnSetTensor4dDescriptor(out_, CUDNN_TENSOR_NHWC, type, 1, 16, 9, 7);
    cudnnSetFilter4dDescriptor(filter_, type, CUDNN_TENSOR_NHWC, 16, channels, 3, 3);
    cudnnSetConvolutionMathType(how_, math);
    return cudnnGetConvolutionForwardAlgorithm_v7(library_, in_, filter_, how_, out_,
                                                  static_cast<int>(listed_.size()), &found_,
                                                  listed_.data());
  }
  cudnnStatus_t ask_for_workspace(const cudnnConvolutionFwdAlgoPerf_t& listed) {
    std::size_t bytes = 0;
    return cudnnGetConvolutionForwardWorkspaceSize(library_, in_, filter_, how_, out_, listed.algo,
                                                   &bytes);
  }

  cudnnHandle_t library_ = nullptr;
  cudnnTensorDescriptor_t in_ = nullptr, out_ = nullptr;
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t how_ = nullptr;
  std::array<cudnnConvolutionFwdAlgoPerf_t, 16> listed_{};
  int found_ = 0;
};

TEST_F(Cudnn, HasNotEveryMathTypeOfEveryType) {
  EXPECT_EQ(list(CUDNN_DATA_HALF, CUDNN_FMA_MATH, 8), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(list(CUDNN_DATA_BFLOAT16, CUDNN_DEFAULT_MATH, 8), CUDNN_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(list(CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, 8), CUDNN_STATUS_SUCCESS);
}

TEST_F(Cudnn, GivesTensorCoresWholeVectorsOfChannels) {
  ASSERT_EQ(list(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, 8), CUDNN_STATUS_SUCCESS);
  EXPECT_GT(found_, 0);
  ASSERT_EQ(list(CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, 3), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(found_, 0);
}

TEST_F(Cudnn, KnowsAnAlgorithmByItsMathTypeAlone) {
  ASSERT_EQ(list(CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH, 3), CUDNN_STATUS_SUCCESS);
  ASSERT_GT(found_, 0);
  ASSERT_EQ(listed_[0].mathType, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(ask_for_workspace(listed_[0]), CUDNN_STATUS_NOT_SUPPORTED);
  cudnnSetConvolutionMathType(how_, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(ask_for_workspace(listed_[0]), CUDNN_STATUS_SUCCESS);
}

}  // namespace
}  // namespace emulated_cuda::test
