#include <gtest/gtest.h>

#include <limits>

#include "layers/nn/elementwise.h"
#include "tests/support/runtime/built_graph.h"

namespace penstock::runtime {
namespace {

using Operators = std::vector<std::string>;

template <class Kind, class... Arguments>
Operators operators_for(Arguments&&... arguments) {
  std::vector<std::unique_ptr<layers::Layer>> sequence;
  sequence.push_back(std::make_unique<Kind>("layer", std::forward<Arguments>(arguments)...));
  const test::BuiltGraph graph(std::move(sequence), 4);
  EXPECT_EQ(graph.model().faults(), Operators{});
  return graph.model().operators();
}

TEST(ElementwiseNodes, ClipOnlyWhereThereIsABound) {
  EXPECT_EQ(operators_for<layers::ClippedReLU>(20.0), (Operators{"Clip", "Identity"}));
  EXPECT_EQ(operators_for<layers::ClippedReLU>(std::numeric_limits<double>::infinity()),
            (Operators{"Relu", "Identity"}));
}

TEST(ElementwiseNodes, LeaveDropoutOut) {
  EXPECT_EQ(operators_for<layers::Dropout>(0.5), (Operators{"Identity"}));
}

TEST(ElementwiseNodes, GateOneHalfByTheOther) {
  EXPECT_EQ(operators_for<layers::Gate>(layers::GateKind::glu),
            (Operators{"Split", "Sigmoid", "Mul", "Identity"}));
  EXPECT_EQ(operators_for<layers::Gate>(layers::GateKind::swiglu),
            (Operators{"Split", "Sigmoid", "Mul", "Mul", "Identity"}));
}

TEST(ElementwiseNodes, SpellNonlinearitiesOut) {
  EXPECT_EQ(operators_for<layers::Nonlinearity>(layers::NonlinearityKind::gelu),
            (Operators{"Div", "Erf", "Add", "Mul", "Mul", "Identity"}));
  EXPECT_EQ(operators_for<layers::Nonlinearity>(layers::NonlinearityKind::silu),
            (Operators{"Sigmoid", "Mul", "Identity"}));
}

}  // namespace
}  // namespace penstock::runtime
