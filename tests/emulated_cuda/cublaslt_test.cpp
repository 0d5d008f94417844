// These tests show what cuBLASLt refuses, and what it does to its workspace. The tests of
// penstock's products show that it multiplies.

#include <cublasLt.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

using penstock::layers::cuda::make_stream_handle;
using penstock::layers::cuda::StreamHandle;
using Failed = ::testing::ExitedWithCode;

constexpr int kFailed = 99, kRows = 3, kInner = 5, kColumns = 4, kLead = 8;
constexpr std::size_t kWorkspace = 1 << 20;

/// D [3 × 4] = A [3 × 5] · B [5 × 4], by columns, each 8 numbers from the next.
class CublasLt : public ::testing::Test {
 protected:
  CublasLt() {
    cublasLtCreate(&library_);
    cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceCreate(&limits_);
    set_limit(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    a_ = layout(CUDA_R_32F, kRows, kInner, kLead);
    b_ = layout(CUDA_R_32F, kInner, kColumns, kLead);
    d_ = layout(CUDA_R_32F, kRows, kColumns, kLead);
    std::ranges::fill(numbers_.pinned(), 1.0f);
    numbers_.upload(stream_.get());
  }
  ~CublasLt() override {
    for (cublasLtMatrixLayout_t layout : layouts_) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulPreferenceDestroy(limits_);
    cublasLtMatmulDescDestroy(description_);
    cublasLtDestroy(library_);
  }

  cublasLtMatrixLayout_t layout(cudaDataType_t type, int rows, int columns, int lead) {
    cublasLtMatrixLayoutCreate(&layouts_.emplace_back(), type, static_cast<unsigned>(rows),
                               static_cast<unsigned>(columns), lead);
    return layouts_.back();
  }
  template <class T>
  void set_limit(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(limits_, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }

  /// Takes the first algorithm whose state is success.
  cublasStatus_t choose() {
    std::array<cublasLtMatmulHeuristicResult_t, 4> results{};
    const int wanted = static_cast<int>(results.size());
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        library_, description_, a_, b_, d_, d_, limits_, wanted, results.data(), &found_);
    for (int i = found_ - 1; i >= 0; --i)
      if (results[i].state == CUBLAS_STATUS_SUCCESS) candidate_ = results[i];
    return status;
  }
  void expect_none() {
    EXPECT_NE(choose(), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(found_, 0);
  }
  template <class T>
  void describe(cublasLtMatmulDescAttributes_t attribute, T value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t multiply(const float* a, void* workspace, std::size_t workspace_bytes) {
    const float one = 1, zero = 0;
    return cublasLtMatmul(library_, description_, &one, a, a_, numbers_.data() + 64, b_, &zero,
                          numbers_.data() + 128, d_, numbers_.data() + 128, d_, &candidate_.algo,
                          workspace, workspace_bytes, stream_.get());
  }

  StreamHandle stream_ = make_stream_handle();
  DeviceArray<float> numbers_{192};
  DeviceArray<float> workspace_{kWorkspace / sizeof(float)};
  cublasLtHandle_t library_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatmulPreference_t limits_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulHeuristicResult_t candidate_{};
  int found_ = 0;
  std::vector<cublasLtMatrixLayout_t> layouts_;
};

TEST_F(CublasLt, LeavesWhatLiesBetweenColumns) {
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(multiply(numbers_.data(), workspace_.data(), kWorkspace), CUBLAS_STATUS_SUCCESS);
  const std::vector<float> found = numbers_.values(stream_.get());
  for (std::size_t i = 0; i < kLead * kColumns; ++i)
    EXPECT_EQ(found[128 + i], i % kLead < kRows ? kInner : 1) << i;
}

TEST_F(CublasLt, RejectsShapesThatDoNotFit) {
  b_ = layout(CUDA_R_32F, kInner + 1, kColumns, kLead);
  EXPECT_EQ(choose(), CUBLAS_STATUS_INVALID_VALUE);
  b_ = layout(CUDA_R_32F, kInner, kColumns, kInner - 1);
  EXPECT_EQ(choose(), CUBLAS_STATUS_INVALID_VALUE);
  b_ = layout(CUDA_R_16F, kInner, kColumns, kLead);
  EXPECT_EQ(choose(), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, RejectsAnotherProductThanItChoseFor) {
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  d_ = layout(CUDA_R_32F, kRows, kColumns - 1, kLead);
  b_ = layout(CUDA_R_32F, kInner, kColumns - 1, kLead);
  EXPECT_EXIT(multiply(numbers_.data(), workspace_.data(), kWorkspace), Failed(kFailed),
              "chosen for another product");
}

TEST_F(CublasLt, NamesAlgorithmsThatAreNone) {
  int found = 0;
  cublasLtMatmulAlgoGetHeuristic(library_, description_, a_, b_, d_, d_, limits_, 1, &candidate_,
                                 &found);
  EXPECT_NE(candidate_.state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EXIT(multiply(numbers_.data(), workspace_.data(), kWorkspace), Failed(kFailed),
              "there is no such algorithm");
}

TEST_F(CublasLt, AddsABiasOnlyWhereItKnowsOne) {
  describe(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  expect_none();
  describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(numbers_.data()));
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(found_, 0);
  describe(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(numbers_.data() + 1));
  EXPECT_EXIT(multiply(numbers_.data(), workspace_.data(), kWorkspace), Failed(kFailed),
              "the bias at .* is not on a boundary of 16 bytes");
}

TEST_F(CublasLt, ReadsNoHalvesWithOddLeadingDimensions) {
  b_ = layout(CUDA_R_16F, kInner, kColumns, kLead);
  d_ = layout(CUDA_R_16F, kRows, kColumns, kLead);
  a_ = layout(CUDA_R_16F, kRows, kInner, kLead - 1);
  expect_none();
  a_ = layout(CUDA_R_16F, kRows, kInner, kLead);
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(found_, 0);
  d_ = layout(CUDA_R_16F, kRows, kColumns, kLead - 1);
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_GT(found_, 0);
}

TEST_F(CublasLt, RejectsAddressesThatAreLessAlignedThanPromised) {
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EXIT(multiply(numbers_.data() + 4, workspace_.data(), kWorkspace), Failed(kFailed),
              "matrix A at .* is not on a boundary of 256 bytes");
  set_limit(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t{16});
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(numbers_.data() + 4, workspace_.data(), kWorkspace), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, RejectsATooSmallOrMisplacedWorkspace) {
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(numbers_.data(), workspace_.data(), kWorkspace / 2),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EXIT(multiply(numbers_.data(), workspace_.data() + 4, kWorkspace), Failed(kFailed),
              "the workspace, 1048576 bytes .* not inside one allocation");
}

TEST_F(CublasLt, ScribblesOnItsWorkspace) {
  ASSERT_EQ(choose(), CUBLAS_STATUS_SUCCESS);
  std::ranges::fill(workspace_.pinned(), 0.0f);
  workspace_.upload(stream_.get());
  ASSERT_EQ(multiply(numbers_.data(), workspace_.data(), kWorkspace), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(std::isnan(workspace_.values(stream_.get())[kWorkspace / sizeof(float) - 1]));
}

}  // namespace
}  // namespace emulated_cuda::test
