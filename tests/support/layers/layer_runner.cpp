#include "tests/support/layers/layer_runner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace penstock::test {
namespace {

// Accumulators, statistics and state are never narrower than FP32.
layers::DType wide(layers::DType compute) {
  return compute == layers::DType::f64 ? layers::DType::f64 : layers::DType::f32;
}

const layers::Tensor& the_view(const layers::Activation& activation) {
  return activation.only().x_FC;
}

template <class Decl>
const layers::Tensor& named(const std::vector<Decl>& decls,
                            const std::vector<layers::Tensor>& tensors, const std::string& name) {
  for (std::size_t i = 0; i < decls.size(); ++i)
    if (decls[i].name == name) return tensors[i];
  throw std::out_of_range("the plan has no " + name);
}

}  // namespace

LayerRunner::PlacedActivation::PlacedActivation(const layers::ActivationDecl& decl)
    : memory(decl.bytes()), activation(layers::place(decl, memory.data())) {}

void LayerRunner::Owned::add(layers::DType dtype, const layers::Shape& shape) {
  layers::Tensor tensor{nullptr, dtype, shape};
  memory.push_back(std::make_unique<GuardedMemory>(tensor.bytes()));
  tensor.data = memory.back()->data();
  tensors.push_back(tensor);
}

void LayerRunner::Owned::add_view(const layers::Tensor& tensor) {
  memory.push_back(nullptr);
  tensors.push_back(tensor);
}

LayerRunner::LayerRunner(const layers::Layer& layer, layers::ActivationDecl input)
    : layer_(layer),
      input_decl_(std::move(input)),
      plan_(layer.plan(input_decl_, {layers::DeviceKind::cpu, input_decl_.dtype})),
      backend_(layers::make_cpu_backend()),
      stream_(backend_->make_stream()),
      input_(input_decl_),
      output_(plan_.output),
      output_gradient_(plan_.output),
      input_gradient_(input_decl_),
      sums_(plan_.sums * sizeof(double)) {
  const layers::DType compute = input_decl_.dtype;
  for (const layers::ParamDecl& p : plan_.params) {
    params_.add(p.full_precision ? wide(compute) : compute, p.shape);
    assign(params_.tensors.back(), std::vector<double>(layers::element_count(p.shape)));
    if (!p.summed) {
      grads_.add_view({nullptr, wide(compute), {0}});
      continue;
    }
    grads_.add(wide(compute), p.shape);
    assign(grads_.tensors.back(), std::vector<double>(layers::element_count(p.shape)));
  }
  for (const layers::StateDecl& s : plan_.state) {
    state_.add(wide(compute), s.shape);
    assign(state_.tensors.back(), std::vector<double>(layers::element_count(s.shape), s.initial));
  }
  for (const layers::SavedDecl& s : plan_.saved) switch (s.kind) {
      case layers::SavedDecl::Kind::own:
        saved_.add(s.dtype, s.shape);
        break;
      case layers::SavedDecl::Kind::input:
        saved_.add_view(the_view(input_.activation));
        break;
      case layers::SavedDecl::Kind::output:
        saved_.add_view(the_view(output_.activation));
        break;
      case layers::SavedDecl::Kind::input_gradient:
        saved_.add_view(the_view(input_gradient_.activation));
        break;
      case layers::SavedDecl::Kind::output_gradient:
        saved_.add_view(the_view(output_gradient_.activation));
        break;
      case layers::SavedDecl::Kind::none:
        saved_.add_view({});
        break;
    }
}

const layers::Tensor& LayerRunner::param(const std::string& name) const {
  return named(plan_.params, params_.tensors, name);
}
const layers::Tensor& LayerRunner::grad(const std::string& name) const {
  return named(plan_.params, grads_.tensors, name);
}
const layers::Tensor& LayerRunner::state(const std::string& name) const {
  return named(plan_.state, state_.tensors, name);
}

std::span<const double> LayerRunner::sums() const {
  return {reinterpret_cast<const double*>(sums_.data()), plan_.sums};
}

void LayerRunner::randomise(std::uint64_t seed) {
  auto fill = [&](const layers::Tensor& tensor) { assign(tensor, uniform(tensor.size(), ++seed)); };
  for (const layers::Frames& frames : input().frames) fill(frames.x_FC);
  for (const layers::Frames& frames : output_gradient().frames) fill(frames.x_FC);
  for (const layers::Tensor& tensor : params()) fill(tensor);
}

void LayerRunner::forward() {
  output_.memory.poison();
  sums_.poison();
  for (layers::Life life :
       {layers::Life::to_backward_input, layers::Life::to_backward_weight, layers::Life::carried})
    poison_saved(life);
  layers::Context with = context(plan_.workspace.forward);
  if (mode != layers::Mode::train) with.sums = {};
  const layers::WorkspaceScope lending(*stream_, lent(with.workspace));
  layer_.forward(with, {params(), state()}, input(), output(),
                 mode == layers::Mode::train ? layers::Saved(saved_.tensors) : layers::Saved());
  check();
}

void LayerRunner::backward_input(bool wanted) {
  input_gradient_.memory.poison();
  poison_saved(layers::Life::carried);
  layers::Context with = context(plan_.workspace.backward_input);
  layers::Activation nothing;
  const layers::WorkspaceScope lending(*stream_, lent(with.workspace));
  layer_.backward_input(with, {params(), state()}, output_gradient(), saved_.tensors,
                        wanted ? input_gradient() : nothing);
  check();
  poison_saved(layers::Life::to_backward_input);
}

void LayerRunner::backward_weight() {
  layers::Context with = context(plan_.workspace.backward_weight);
  const layers::WorkspaceScope lending(*stream_, lent(with.workspace));
  layer_.backward_weight(with, saved_.tensors, grads());
  check();
}

void LayerRunner::commit_state(std::span<const double> sums) {
  layers::Context with = context(0);
  layer_.commit_state(with, sums, state());
}

std::span<std::byte> LayerRunner::lent(std::span<std::byte> workspace) const {
  return workspace.first(workspace.size() - std::min(workspace.size(), withheld));
}

layers::Context LayerRunner::context(std::size_t workspace_bytes) {
  workspace_ = GuardedMemory(workspace_bytes);
  layers::Context made{*backend_, *stream_};
  made.mode = mode;
  made.lengths = input_decl_.frames.front().lengths;
  if (input_decl_.frames.size() > 1) made.text_lengths = input_decl_.frames[1].lengths;
  made.workspace = workspace_.bytes();
  made.sums = {reinterpret_cast<double*>(sums_.data()), plan_.sums};
  made.random = random;
  made.targets = targets;
  made.cache = cache;
  return made;
}

void LayerRunner::poison_saved(layers::Life life) {
  for (std::size_t i = 0; i < saved_.memory.size(); ++i)
    if (saved_.memory[i] && plan_.saved[i].life == life) saved_.memory[i]->poison();
}

void LayerRunner::check() const {
  const std::string& name = layer_.name();
  auto all = [&](const Owned& owned, const std::string& what) {
    for (const auto& memory : owned.memory)
      if (memory) memory->check((name + ": " + what).c_str());
  };
  all(params_, "parameter");
  all(state_, "state");
  all(grads_, "weight gradient");
  all(saved_, "saved tensor");
  workspace_.check((name + ": workspace").c_str());
  sums_.check((name + ": sums").c_str());
  input_.memory.check((name + ": input").c_str());
  output_.memory.check((name + ": output").c_str());
  input_gradient_.memory.check((name + ": input gradient").c_str());
  output_gradient_.memory.check((name + ": output gradient").c_str());
}

}  // namespace penstock::test
