#pragma once

#include <gtest/gtest.h>

#include "layers/layer_plan.h"

namespace penstock::layers {

/// Fails the test if a size of `more` is below that of `few`.
inline void expect_no_less(const LayerPlan& few, const LayerPlan& more) {
  ASSERT_EQ(few.saved.size(), more.saved.size());
  for (std::size_t i = 0; i < few.saved.size(); ++i)
    if (few.saved[i].kind == SavedDecl::Kind::own) {
      EXPECT_LE(element_count(few.saved[i].shape), element_count(more.saved[i].shape)) << i;
    }
  EXPECT_LE(few.workspace.forward, more.workspace.forward);
  EXPECT_LE(few.workspace.backward_input, more.workspace.backward_input);
  EXPECT_LE(few.workspace.backward_weight, more.workspace.backward_weight);
  EXPECT_LE(few.flops.forward, more.flops.forward);
  EXPECT_LE(few.flops.backward_input, more.flops.backward_input);
  EXPECT_LE(few.flops.backward_weight, more.flops.backward_weight);
}

}  // namespace penstock::layers
