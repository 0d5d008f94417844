#include "layers/layer.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>

#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;

// y = w · x² with one weight, and a hook that spoils one thing after each method.
class Squares final : public Layer {
 public:
  struct Spoil {
    std::function<void(double* y, Saved)> forward = [](double*, Saved) {};
    std::function<void(double* dx)> backward_input = [](double*) {};
    std::function<void(double* dw)> backward_weight = [](double*) {};
  };
  explicit Squares(Spoil spoil) : spoil_(std::move(spoil)) {}

  const std::string& name() const override { return name_; }

  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override {
    LayerPlan plan;
    plan.output = input;
    plan.params = {{name_ + ".weight", {1}, {Initialiser::Kind::constant, 1}}};
    plan.saved = {{SavedDecl::Kind::input, Life::to_backward_input},
                  {SavedDecl::Kind::own, Life::carried, DType::f64, {1}},
                  {SavedDecl::Kind::own, Life::to_backward_input, DType::f64, {1}}};
    return plan;
  }

  void forward(Context&, const Params& params, const Activation& x, Activation& y,
               Saved saved) const override {
    const Tensor& in = x.only().x_FC;
    double* out = y.only().x_FC.as<double>();
    for (std::int64_t i = 0; i < in.size(); ++i)
      out[i] = weight(params) * in.as<double>()[i] * in.as<double>()[i];
    spoil_.forward(out, saved);
  }

  void backward_input(Context&, const Params& params, const Activation& dy, Saved saved,
                      Activation& dx) const override {
    const double* x = saved[0].as<double>();
    double& dw = *saved[1].as<double>();
    dw = 0;
    for (std::int64_t i = 0; i < saved[0].size(); ++i) {
      const double g = dy.only().x_FC.as<double>()[i];
      dw += g * x[i] * x[i];
      if (!dx.empty()) dx.only().x_FC.as<double>()[i] = 2 * weight(params) * x[i] * g;
    }
    if (!dx.empty()) spoil_.backward_input(dx.only().x_FC.as<double>());
  }

  void backward_weight(Context&, Saved saved, Grads grads) const override {
    double* dw = grads[0].as<double>();
    *dw += *saved[1].as<double>();
    spoil_.backward_weight(dw);
  }

 private:
  static double weight(const Params& params) { return *params.weights[0].as<double>(); }

  std::string name_ = "squares";
  Spoil spoil_;
};

void check(Squares::Spoil spoil) {
  const Squares layer(std::move(spoil));
  LayerRunner runner(layer, {DType::f64, {{{3, 1}, 2}}});
  runner.randomise(1);
  check_gradients(runner);
}

TEST(GradientCheck, AcceptsRightGradients) { check({}); }

TEST(GradientCheck, RejectsWrongGradients) {
  EXPECT_NONFATAL_FAILURE(check({.backward_input = [](double* dx) { dx[3] *= 1.0001; }}),
                          "gradient of input 0");
  EXPECT_NONFATAL_FAILURE(check({.backward_input = [](double* dx) { dx[7] = NAN; }}),
                          "gradient of input 0");
  EXPECT_NONFATAL_FAILURE(check({.backward_weight = [](double* dw) { *dw += 1e-4; }}),
                          "squares.weight");
}

TEST(GradientCheck, RejectsGradientsThatAreNotAddedTo) {
  EXPECT_FATAL_FAILURE(check({.backward_weight = [](double* dw) { *dw = 5; }}), "not added to");
}

TEST(LayerRunner, SeesWritesBeyondWhatIsDeclared) {
  EXPECT_THROW(check({.forward = [](double* y, Saved) { y[8] = 0; }}), std::logic_error);
  EXPECT_THROW(check({.forward = [](double*, Saved saved) { saved[2].as<double>()[1] = 0; }}),
               std::logic_error);
  EXPECT_THROW(check({.backward_weight = [](double* dw) { dw[1] = 0; }}), std::logic_error);
}

TEST(LayerRunner, PoisonsWhatHasOutlivedItsLife) {
  const Squares layer({.forward = [](double*, Saved saved) {
    *saved[1].as<double>() = 1;
    *saved[2].as<double>() = 1;
  }});
  LayerRunner runner(layer, {DType::f64, {{{3, 1}, 2}}});
  runner.randomise(1);
  runner.forward();
  EXPECT_EQ(*runner.saved()[2].as<double>(), 1);
  runner.backward_input();
  EXPECT_TRUE(std::isnan(*runner.saved()[2].as<double>()));
  EXPECT_FALSE(std::isnan(*runner.saved()[1].as<double>()));
}

using Numbers = std::vector<double>;

TEST(Columns, AreThoseOfEveryRow) {
  const Numbers rows = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(columns(rows, 3, 0, 3), rows);
  EXPECT_EQ(columns(rows, 3, 1, 2), (Numbers{2, 3, 5, 6, 8, 9}));
  EXPECT_EQ(columns(rows, 3, 2, 1), (Numbers{3, 6, 9}));
  EXPECT_EQ(columns({}, 3, 1, 2), Numbers());
}

}  // namespace
}  // namespace penstock::layers
