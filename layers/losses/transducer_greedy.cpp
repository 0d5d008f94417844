#include "layers/losses/transducer_greedy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/error.h"
#include "base/quantities.h"

// A step multiplies the joint network's weights by one row, and a label the prediction network's,
// so an utterance costs (T + U) · J · K multiply-adds and little else. The order of parameters is
// that of PredictionNetwork and Transducer.

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

/// Returns the place of the largest number, the first of equals.
std::int32_t best(const float* from, std::int64_t count) {
  return static_cast<std::int32_t>(std::max_element(from, from + count) - from);
}

Vector sigmoid(const Vector& x) { return (1 + (-x.array()).exp()).inverse(); }

}  // namespace

/// The memory that the prediction network has of the labels that it has read.
struct TransducerGreedy::State {
  std::vector<Vector> hidden, cells;  // of each LSTM layer
  Vector previous;  // embedding of the label before the last, of a stateless network
  Vector last;      // output of the layer before the projection
  Vector predicted_J;
};

/// A token, and the frames to the next step.
struct TransducerGreedy::Step {
  std::int32_t token = 0, frames = 0;
};

TransducerGreedy::TransducerGreedy(const TransducerOptions& options, std::span<const Tensor> params)
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

// The gates lie in the order i f g o (layers/ops/recurrence.h).
void TransducerGreedy::read_lstm(State& state) const {
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
void TransducerGreedy::read_context(State& state) const {
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

void TransducerGreedy::read(State& state, std::int32_t label) const {
  state.last = matrix(params_[0]).row(label).transpose();
  if (options_.prediction.kind == PredictionKind::lstm)
    read_lstm(state);
  else if (options_.prediction.context == 2)
    read_context(state);
  state.predicted_J = product(params_, params_.size() - 4, state.last);
}

TransducerGreedy::Step TransducerGreedy::step(State& state,
                                              std::span<const float> encoded_J) const {
  Vector hidden = VectorMap(encoded_J.data(), options_.joint) + state.predicted_J;
  if (options_.nonlinearity == JointNonlinearity::relu)
    hidden = hidden.cwiseMax(0.0f);
  else
    hidden = hidden.array().tanh();
  const Vector logits = product(params_, params_.size() - 2, hidden);
  const std::int32_t token = best(logits.data(), options_.classes);
  if (options_.durations.empty()) return {token, token == 0 ? 1 : 0};
  const auto count = static_cast<std::int64_t>(options_.durations.size());
  const std::int32_t place = best(logits.data() + options_.classes, count);
  const std::int32_t frames = options_.durations[static_cast<std::size_t>(place)];
  return {token, token == 0 ? std::max(frames, 1) : frames};
}

std::vector<std::int32_t> TransducerGreedy::labels(std::span<const float> encoded_TJ) const {
  const auto width = static_cast<std::size_t>(options_.joint);
  if (encoded_TJ.size() % width != 0)
    throw ShapeError(fmt::format("{} are not frames of {}", counted(encoded_TJ.size(), "number"),
                                 counted(width, "channel")));
  const PredictionOptions& network = options_.prediction;
  State state;
  if (network.kind == PredictionKind::lstm) {
    state.hidden.assign(static_cast<std::size_t>(network.layers), Vector::Zero(network.hidden));
    state.cells = state.hidden;
  }
  state.previous = Vector::Zero(network.embedding);
  read(state, 0);
  std::vector<std::int32_t> written;
  int at_frame = 0;  // labels since the last advance
  for (std::size_t t = 0, frames = encoded_TJ.size() / width; t < frames;) {
    Step next = step(state, encoded_TJ.subspan(t * width, width));
    if (next.token != 0) {
      written.push_back(next.token);
      read(state, next.token);
      if (next.frames == 0 && ++at_frame == kMaxLabelsAtFrame) next.frames = 1;
    }
    if (next.frames > 0) at_frame = 0;
    t += static_cast<std::size_t>(next.frames);
  }
  return written;
}

}  // namespace penstock::layers
