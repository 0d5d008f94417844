#include "layers/cpu/attention/attention_scratch.h"
#include "layers/cpu/sizes.h"

namespace penstock::layers::cpu {
namespace {

template <class T>
Workspace workspace_of(const AttentionGeometry& geometry, bool relative) {
  return {.forward = AttentionScratch<T>(geometry, relative, false, Scratch()).bytes,
          .backward_input = AttentionScratch<T>(geometry, relative, true, Scratch()).bytes};
}

}  // namespace

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative, DType dtype) {
  return arithmetic_of(dtype) == DType::f64 ? workspace_of<double>(geometry, relative)
                                            : workspace_of<float>(geometry, relative);
}

}  // namespace penstock::layers::cpu
