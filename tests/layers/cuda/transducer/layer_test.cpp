#include <algorithm>

#include "layers/losses/transducer_ctc.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

const std::vector<std::int64_t> kFrames = {7, 1, 13, 5};
const std::vector<std::int32_t> kLabels = {1, 2, 2, 1, 3, 1, 4, 2, 4, 4, 1, 3},
                                kCounts = {4, 0, 2, 6};

/// Tensors of one backend for a training pass.
struct Side {
  Backend& backend;
  Stream& stream;
  LayerPlan plan;
  Tensor x_FC, dx_FC, weights;
  std::vector<Tensor> params, grads, saved = {};
  std::span<std::byte> workspace = {};
  std::vector<double> losses = {};

  void train(const Layer& layer) {
    losses.assign(plan.losses * kFrames.size(), -1);
    Targets targets{
        kLabels, kCounts, {static_cast<const float*>(weights.data), kFrames.size()}, 0.25, losses};
    Context context{backend, stream, Mode::train, kFrames, workspace};
    context.targets = &targets;
    const WorkspaceScope lending(stream, workspace);
    const Activation x{{{x_FC, kFrames}}};
    Activation nothing, dx{{{dx_FC, kFrames}}};
    layer.forward(context, {params, {}}, x, nothing, saved);
    layer.backward_input(context, {params, {}}, nothing, saved, dx);
    layer.backward_weight(context, saved, grads);
    backend.synchronize(stream);
  }
};

class CudaTransducerLayer : public Parity {
 protected:
  /// The layer uploads its labels, and runs its operations over tiles, texts and frames in turn.
  void compare(const Layer& layer, std::int64_t channels) {
    Side cpu = side(layer, channels, *cpu_, *cpu_stream_, DType::f32);
    Side cuda = side(layer, channels, *cuda_, *cuda_stream_, dtype());
    const Twin x = random(dtype(), {26, channels}), dx = unwritten(dtype(), {26, channels});
    const Twin weights = twin(DType::f32, {4}, std::vector<double>{1, 1, 0.5, 1});
    std::vector<Twin> grads;
    const auto give = [](Side& to, const Tensor Twin::*half, const Twin& param, const Twin& grad) {
      to.params.push_back(param.*half);
      to.grads.push_back(grad.*half);
    };
    for (const ParamDecl& decl : cuda.plan.params) {
      const Twin param = random(dtype(), decl.shape, -0.7, 0.7);
      grads.push_back(
          twin(DType::f32, decl.shape,
               std::vector<double>(static_cast<std::size_t>(element_count(decl.shape)))));
      give(cpu, &Twin::cpu, param, grads.back());
      give(cuda, &Twin::cuda, param, grads.back());
    }
    place(cpu, x.cpu, dx.cpu, weights.cpu, [&](std::size_t n) { return host_memory(n); });
    place(cuda, x.cuda, dx.cuda, weights.cuda, [&](std::size_t n) { return device_memory(n); });
    cpu.train(layer);
    cuda.train(layer);
    const bool half = is_half(dtype());
    EXPECT_LE(test::relative_error(cuda.losses, cpu.losses), half ? 2 * tolerance() : 1e-5);
    expect_close(dx, half ? 20 * tolerance() : 1e-4, "dx");
    for (std::size_t i = 0; i < grads.size(); ++i)
      expect_close(grads[i], half ? 20 * tolerance() : 1e-4, cpu.plan.params[i].name.c_str());
  }

 private:
  Side side(const Layer& layer, std::int64_t channels, Backend& backend, Stream& stream,
            DType dtype) {
    const std::vector<std::int64_t> labels(kCounts.begin(), kCounts.end());
    const ActivationDecl input{dtype, {{kFrames, channels}}, labels};
    return {backend, stream, layer.plan(input, {backend.kind(), dtype}), {}, {}, {}, {}, {}};
  }

  template <class Memory>
  void place(Side& side, const Tensor& x, const Tensor& dx, const Tensor& weights, Memory memory) {
    side.x_FC = x;
    side.dx_FC = dx;
    side.weights = weights;
    for (const SavedDecl& decl : side.plan.saved) {
      Tensor tensor{nullptr, decl.dtype, decl.shape};
      if (decl.kind == SavedDecl::Kind::own) tensor.data = memory(tensor.bytes()).data();
      side.saved.push_back(decl.kind == SavedDecl::Kind::input ? x : tensor);
    }
    const Workspace& room = side.plan.workspace;
    side.workspace = memory(std::max({room.forward, room.backward_input, room.backward_weight}));
  }
};

TEST_P(CudaTransducerLayer, TrainsLstmWithDurations) {
  compare(Transducer({.classes = 5,
                      .joint = 9,
                      .durations = {0, 1, 3},
                      .sigma = 0.05,
                      .nonlinearity = JointNonlinearity::tanh,
                      .prediction = {.embedding = 7, .layers = 2, .hidden = 11},
                      .tile_numbers = 500}),
          9);
}

TEST_P(CudaTransducerLayer, TrainsStatelessRnnT) {
  compare(Transducer({.classes = 5,
                      .joint = 9,
                      .nonlinearity = JointNonlinearity::tanh,
                      .prediction = {.kind = PredictionKind::stateless, .embedding = 8},
                      .tile_numbers = 500}),
          9);
}

// The losses of the transducer are followed by those of CTC, whose logits are the last columns.
TEST_P(CudaTransducerLayer, TrainsBesideCtc) {
  compare(TransducerCtc({.classes = 5,
                         .joint = 9,
                         .nonlinearity = JointNonlinearity::tanh,
                         .prediction = {.embedding = 7, .hidden = 11},
                         .tile_numbers = 500},
                        0.3),
          9 + 5);
}

PARITY_OF_ALL_TYPES(CudaTransducerLayer);

}  // namespace
}  // namespace penstock::layers
