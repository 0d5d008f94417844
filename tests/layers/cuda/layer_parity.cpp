#include "tests/layers/cuda/layer_parity.h"

#include <algorithm>

namespace penstock::layers {

void LayerParity::Side::train(const Layer& layer, const TextBatch& batch) {
  const std::size_t utterances = batch.frames.size();
  losses.assign(plan.losses * utterances, -1);
  Targets targets{batch.labels,
                  batch.counts,
                  {static_cast<const float*>(weights.data), utterances},
                  0.25,
                  losses};
  Context context{backend, stream, Mode::train, batch.frames, {}, workspace};
  context.targets = &targets;
  const WorkspaceScope lending(stream, workspace);
  const auto of_output = [&](const Tensor& tensor) {
    return plan.output.frames.empty() ? Activation{}
                                      : Activation{{{tensor, plan.output.only().lengths}}};
  };
  const Activation from{{{x, batch.frames}}}, gradient = of_output(dy);
  Activation to = of_output(y), from_gradient{{{dx, batch.frames}}};
  layer.forward(context, {params, {}}, from, to, saved);
  layer.backward_input(context, {params, {}}, gradient, saved, from_gradient);
  layer.backward_weight(context, saved, grads);
  backend.synchronize(stream);
}

LayerParity::Side LayerParity::side(const Layer& layer, std::int64_t channels,
                                    const TextBatch& batch, bool on_cuda) {
  Backend& backend = on_cuda ? *cuda_ : *cpu_;
  Stream& stream = on_cuda ? *cuda_stream_ : *cpu_stream_;
  const DType type = on_cuda ? dtype() : DType::f32;
  const ActivationDecl input{
      type, {{batch.frames, channels}}, {batch.counts.begin(), batch.counts.end()}};
  return {.backend = backend, .stream = stream, .plan = layer.plan(input, {backend.kind(), type})};
}

/// Gives a side exactly the memory of its plan.
void LayerParity::place(Side& side, bool on_cuda) {
  const auto memory = [&](std::size_t bytes) {
    return on_cuda ? device_memory(bytes) : host_memory(bytes);
  };
  for (const SavedDecl& decl : side.plan.saved) {
    Tensor tensor{nullptr, decl.dtype, decl.shape};
    if (decl.kind == SavedDecl::Kind::own) tensor.data = memory(tensor.bytes()).data();
    switch (decl.kind) {
      case SavedDecl::Kind::input:
        tensor = side.x;
        break;
      case SavedDecl::Kind::output:
        tensor = side.y;
        break;
      case SavedDecl::Kind::output_gradient:
        tensor = side.dy;
        break;
      default:
        break;
    }
    side.saved.push_back(tensor);
  }
  const Workspace& room = side.plan.workspace;
  side.workspace = memory(std::max({room.forward, room.backward_input, room.backward_weight}));
}

void LayerParity::compare(const Layer& layer, std::int64_t channels, const TextBatch& batch) {
  Side cpu = side(layer, channels, batch, false), cuda = side(layer, channels, batch, true);
  const auto give = [&](Tensor Side::*to, const Twin& twin) {
    cpu.*to = twin.cpu;
    cuda.*to = twin.cuda;
    return twin;
  };
  const Shape x = FramesDecl{batch.frames, channels}.shape();
  std::vector<double> of_utterances;
  for (std::size_t u = 0; u < batch.frames.size(); ++u)
    of_utterances.push_back(u % 3 == 2 ? 0.5 : 1);
  give(&Side::x, random(dtype(), x));
  give(&Side::weights, twin(DType::f32, {std::ssize(of_utterances)}, of_utterances));
  const Twin dx = give(&Side::dx, unwritten(dtype(), x));
  const bool ends = cpu.plan.output.frames.empty();
  const Shape shape = ends ? Shape{0, 0} : cpu.plan.output.only().shape();
  const Twin y = give(&Side::y, unwritten(dtype(), shape));
  give(&Side::dy, random(dtype(), shape));
  std::vector<Twin> grads;
  for (const ParamDecl& decl : cuda.plan.params) {
    const Twin param = random(decl.full_precision ? DType::f32 : dtype(), decl.shape, -0.7, 0.7);
    const std::vector<double> zeros(static_cast<std::size_t>(element_count(decl.shape)));
    grads.push_back(twin(DType::f32, decl.shape, zeros));
    cpu.params.push_back(param.cpu);
    cuda.params.push_back(param.cuda);
    cpu.grads.push_back(grads.back().cpu);
    cuda.grads.push_back(grads.back().cuda);
  }
  place(cpu, false);
  place(cuda, true);
  cpu.train(layer, batch);
  cuda.train(layer, batch);
  const bool half = is_half(dtype());
  EXPECT_LE(test::relative_error(cuda.losses, cpu.losses), half ? 2 * tolerance() : 1e-5);
  if (!ends) expect_close(y, tolerance(), "y");
  expect_close(dx, half ? 20 * tolerance() : 1e-4, "dx");
  for (std::size_t i = 0; i < grads.size(); ++i)
    expect_close(grads[i], half ? 20 * tolerance() : 1e-4, cpu.plan.params[i].name.c_str());
}

}  // namespace penstock::layers
