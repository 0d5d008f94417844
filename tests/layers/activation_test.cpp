#include "layers/activation.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::layers {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(ActivationDecl, AssumesAUsualNumberOfLabels) {
  EXPECT_EQ((ActivationDecl{DType::f32, {{{17, 3}, 7}}}).labels_or_usual(), (Counts{3, 0}));
}

TEST(ActivationDecl, StatesTheLabelsThatAreKnown) {
  EXPECT_EQ((ActivationDecl{DType::f32, {{{17, 3}, 7}}, {1, 5}}).labels_or_usual(), (Counts{1, 5}));
}

TEST(ActivationDecl, RejectsLabelsOfOtherUtterances) {
  EXPECT_THROW((void)(ActivationDecl{DType::f32, {{{17, 3}, 7}}, {1}}).labels_or_usual(),
               ShapeError);
}

}  // namespace
}  // namespace penstock::layers
