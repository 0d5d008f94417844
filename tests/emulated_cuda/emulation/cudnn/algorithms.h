#pragma once

#include <span>
#include <vector>

#include "tests/emulated_cuda/emulation/cudnn/convolution.h"

namespace emulated_cuda::cudnn {

/// Says what becomes of a caller that takes an algorithm. Each pass has five, in this order, so the
/// library's list begins with those that are not to be taken.
enum Algorithm : int {
  kVaries,        // its results do not repeat
  kWantsTooMuch,  // more memory than there is
  kIsNone,        // stands in the list with a status that is not success
  kRefusesToRun,  // though it says how much memory it wants, as cuDNN's do at times
  kComputes,
};
inline constexpr int kAlgorithms = kComputes + 1;

/// Math types that the library lists algorithms of for a convolution whose descriptor has the math
/// type `how.math`: tensor cores' first. Empty: it has no algorithm.
std::vector<cudnnMathType_t> listed_math(const Convolution& convolution);

/// Whether the type of number has that math type at all.
bool exists(cudnnDataType_t type, cudnnMathType_t math);

}  // namespace emulated_cuda::cudnn
