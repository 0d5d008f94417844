#pragma once

#include <string>
#include <utility>

#include "layers/layer.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {

// These layers have no parameters. They compute one number at a time, or one of each half of a
// frame.

/// Computes y = min(max(x, 0), bound), element by element. Saves its output for backward, which the
/// next layer saves anyway as its input.
class ClippedReLU final : public Layer {
 public:
  explicit ClippedReLU(std::string name, double bound = 20);

  const std::string& name() const override { return name_; }
  double bound() const { return bound_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double bound_;
};

/// Computes y = f(x), element by element: GELU or SiLU. Saves its input for backward.
class Nonlinearity final : public Layer {
 public:
  Nonlinearity(std::string name, NonlinearityKind kind) : name_(std::move(name)), kind_(kind) {}

  const std::string& name() const override { return name_; }
  NonlinearityKind kind() const { return kind_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  NonlinearityKind kind_;
};

/// A gated linear unit, which halves the channels: the last half of a frame's channels gates the
/// first (GLU), or the first gates the last (SwiGLU). Saves its input for backward.
class Gate final : public Layer {
 public:
  Gate(std::string name, GateKind kind) : name_(std::move(name)), kind_(kind) {}

  const std::string& name() const override { return name_; }
  GateKind kind() const { return kind_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  GateKind kind_;
};

/// Computes y = factor · x, element by element. Saves nothing.
class Scale final : public Layer {
 public:
  Scale(std::string name, double factor) : name_(std::move(name)), factor_(factor) {}

  const std::string& name() const override { return name_; }
  double factor() const { return factor_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double factor_;
};

/// Sets a share `probability` of the numbers to 0, and scales the others so that the mean stays.
/// Nothing is saved: backward samples the mask again. In evaluation it copies its input.
class Dropout final : public Layer {
 public:
  /// ShapeError unless 0 <= probability < 1.
  Dropout(std::string name, double probability);

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  std::string name_;
  double probability_;
};

}  // namespace penstock::layers
