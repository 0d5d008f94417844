#include "layers/losses/transducer_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/quantities.h"

// A label multiplies the prediction network's weights by one row, and a frame the joint network's
// by a row for each state. The order of parameters is that of PredictionNetwork and Transducer.

namespace penstock::layers {
namespace {

using Vector = Eigen::VectorXf;
using VectorMap = Eigen::Map<const Vector>;
using Matrix =
    Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

/// Returns the place of an LSTM layer's first parameter, from layer 0 on: input weight and bias,
/// recurrent weight and bias.
std::size_t lstm_place(std::size_t layer) { return 1 + 4 * layer; }

/// Views the last two sizes of a parameter as a matrix.
Matrix matrix(const Tensor& tensor) {
  const std::int64_t columns = tensor.shape.back();
  return {tensor.as<float>(), tensor.size() / columns, columns};
}

VectorMap vector(const Tensor& tensor) { return {tensor.as<float>(), tensor.size()}; }

/// Returns W x + b with the parameters at `place`.
Vector product(const std::vector<Tensor>& params, std::size_t place, const Vector& x) {
  return matrix(params[place]) * x + vector(params[place + 1]);
}

Vector sigmoid(const Vector& x) { return (1 + (-x.array()).exp()).inverse(); }

}  // namespace

struct TransducerStep::State {
  std::vector<Vector> hidden, cells;  // of each LSTM layer
  Vector previous;  // embedding of the label before the last, of a stateless network
  Vector last;      // output of the layer before the projection
  Vector predicted_J;
};

TransducerStep::TransducerStep(const TransducerOptions& options, std::span<const Tensor> params)
    : options_(options), params_(params.begin(), params.end()) {
  const std::vector<ParamDecl> expected =
      Transducer(options).plan({DType::f32, {{{1}, options.joint}}}, {}).params;
  if (params.size() != expected.size())
    throw ShapeError(fmt::format("{} has {} parameters, and its decoder was given {}", options.name,
                                 expected.size(), params.size()));
  for (std::size_t i = 0; i < params.size(); ++i)
    if (params[i].shape != expected[i].shape || params[i].dtype != DType::f32)
      throw ShapeError(fmt::format("{} was given as [{}] of {}, expected [{}] of f32",
                                   expected[i].name, fmt::join(params[i].shape, ", "),
                                   name_of(params[i].dtype), fmt::join(expected[i].shape, ", ")));
}

std::int64_t TransducerStep::outputs() const {
  return options_.classes + std::ssize(options_.durations);
}

std::size_t TransducerStep::frames(std::span<const float> encoded_TJ) const {
  const auto width = static_cast<std::size_t>(options_.joint);
  if (encoded_TJ.size() % width != 0)
    throw ShapeError(fmt::format("{} are not frames of {}", counted(encoded_TJ.size(), "number"),
                                 counted(width, "channel")));
  return encoded_TJ.size() / width;
}

std::shared_ptr<const TransducerStep::State> TransducerStep::start() const {
  const PredictionOptions& network = options_.prediction;
  auto state = std::make_shared<State>();
  if (network.kind == PredictionKind::lstm) {
    state->hidden.assign(static_cast<std::size_t>(network.layers), Vector::Zero(network.hidden));
    state->cells = state->hidden;
  }
  state->previous = Vector::Zero(network.embedding);
  read_label(*state, 0);
  return state;
}

std::shared_ptr<const TransducerStep::State> TransducerStep::read(const State& state,
                                                                  std::int32_t label) const {
  auto after = std::make_shared<State>(state);
  read_label(*after, label);
  return after;
}

void TransducerStep::read_label(State& state, std::int32_t label) const {
  state.last = matrix(params_[0]).row(label).transpose();
  if (options_.prediction.kind == PredictionKind::lstm)
    read_lstm(state);
  else if (options_.prediction.context == 2)
    read_context(state);
  state.predicted_J = product(params_, params_.size() - 4, state.last);
}

// The gates lie in the order i f g o (layers/ops/recurrence.h).
void TransducerStep::read_lstm(State& state) const {
  const std::int64_t H = options_.prediction.hidden;
  for (std::size_t i = 0; i < state.hidden.size(); ++i) {
    const std::size_t place = lstm_place(i);
    const Vector gates =
        product(params_, place, state.last) + product(params_, place + 2, state.hidden[i]);
    const Vector in = sigmoid(gates.segment(0, H)), forget = sigmoid(gates.segment(H, H)),
                 change = gates.segment(2 * H, H).array().tanh(),
                 out = sigmoid(gates.segment(3 * H, H));
    state.cells[i] = forget.array() * state.cells[i].array() + in.array() * change.array();
    state.hidden[i] = out.array() * state.cells[i].array().tanh();
    state.last = state.hidden[i];
  }
}

// Tap 0 of the convolution is for the label before, and tap 1 for the last one.
void TransducerStep::read_context(State& state) const {
  const Vector embedded = state.last;
  const float* weight = params_[1].as<float>();
  for (std::int64_t o = 0; o < embedded.size(); ++o) {
    const std::int64_t group = o / kPredictionGroup * kPredictionGroup;
    float sum = 0;
    for (std::int64_t c = group; c < group + kPredictionGroup; ++c, weight += 2)
      sum += weight[0] * state.previous[c] + weight[1] * embedded[c];
    state.last[o] = std::max(sum, 0.0f);
  }
  state.previous = embedded;
}

std::vector<float> TransducerStep::logits(std::span<const State* const> states,
                                          std::span<const float> encoded_J) const {
  const VectorMap frame(encoded_J.data(), options_.joint);
  Eigen::MatrixXf hidden(options_.joint, std::ssize(states));
  for (std::ptrdiff_t i = 0; i < std::ssize(states); ++i)
    hidden.col(i) = frame + states[static_cast<std::size_t>(i)]->predicted_J;
  if (options_.nonlinearity == JointNonlinearity::relu)
    hidden = hidden.cwiseMax(0.0f);
  else
    hidden = hidden.array().tanh();
  std::vector<float> logits(static_cast<std::size_t>(outputs()) * states.size());
  Eigen::Map<Eigen::MatrixXf> out(logits.data(), outputs(), std::ssize(states));
  out.noalias() = matrix(params_[params_.size() - 2]) * hidden;
  out.colwise() += vector(params_.back());
  return logits;
}

std::int32_t TransducerStep::advance(std::int32_t token, std::size_t duration) const {
  if (options_.durations.empty()) return token == 0 ? 1 : 0;
  const std::int32_t frames = options_.durations[duration];
  return token == 0 ? std::max(frames, 1) : frames;
}

}  // namespace penstock::layers
