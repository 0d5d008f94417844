#include "runtime/pipeline/chunk.h"

#include <algorithm>
#include <chrono>

#include "layers/ops/elementwise.h"

namespace penstock::runtime {

using Region = partition::Place::Region;

namespace {

/// Runs `work`. If `sum` is set, synchronises the stream before and after, and adds the seconds to
/// `sum`.
template <class Work>
void timed(layers::Backend& backend, layers::Stream& stream, double* sum, Work work) {
  if (sum == nullptr) return work();
  backend.synchronize(stream);
  const auto start = std::chrono::steady_clock::now();
  work();
  backend.synchronize(stream);
  *sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns what a loss reads in backward.
layers::Targets labels_in(const MicroBatchWork& work) {
  return {work.labels, work.label_lengths, {}, 1, {}, work.prompts};
}

}  // namespace

// A Chunk runs its layers in order and looks up every tensor in the layout of the micro-batch. The
// layout gives each tensor a region and an offset in it. A region is a buffer of one of the chunk's
// rings, or the scratch memory. at() adds the base address of the buffer that the micro-batch has
// taken. Everything is enqueued on one stream, so layers never wait for each other on the host.
// Backward visits the layers from the last to the first. A recomputed run of layers runs forward
// again just before the backward of its last layer. The run that ends with the chunk is recomputed
// even before the gradient of the chunk's output is there.

// A message of activations is one block of memory, so that a single send carries it:
//
//   matrix (frames × channels) | gap to 64 bytes | … further matrices | a loss weight per utterance
//
// A message of gradients has the same matrices and no weights.

Chunk::Chunk(layers::Backend& backend, layers::Stream& stream, ParameterStore& parameters,
             BufferRing& scratch, const Options& options)
    : host_slots(backend),
      backend_(backend),
      stream_(stream),
      parameters_(parameters),
      scratch_(scratch),
      options_(options),
      staging_(backend) {}

// This is arithmetic on lengths and labels: each layer maps the shape of its input to that of its
// output. Stages without labels hold no layer that needs their number.
partition::MicroBatchLayout Chunk::lay_out(const MicroBatchWork& work, layers::Mode mode) const {
  const std::vector<std::int64_t> labels(work.label_lengths.begin(), work.label_lengths.end());
  layers::ActivationDecl input{options_.sizes.compute, {{work.lengths, options_.features}}, labels};
  for (const auto& layer : options_.before)
    input = layers::next_input(input, layer->plan(input, options_.sizes));
  return mode == layers::Mode::train
             ? partition::lay_out_training(options_.layers, input, options_.sizes, options_.role)
             : partition::lay_out_evaluation(options_.layers, input, options_.sizes,
                                             !work.label_lengths.empty(), options_.beam);
}

void Chunk::reserve(const partition::ChunkBuffers& buffers) {
  slots.reserve(backend_, buffers.slots);
  recomputed.reserve(backend_, buffers.recomputed);
  inputs.reserve(backend_, buffers.inputs);
  output_gradients.reserve(backend_, buffers.output_gradients);
  input_gradients.reserve(backend_, buffers.input_gradients);
  host_slots.buffers.reserve(backend_, buffers.host);
  scratch_.reserve(backend_, buffers.scratch);
  caches.reserve(backend_, buffers.caches);
  staging_.reserve(buffers.features);
}

void Chunk::divide(const partition::BufferBytes& each, const partition::InFlight& count) {
  slots.divide(backend_, count.slots, each.slot);
  recomputed.divide(backend_, count.recomputed, each.recomputed);
  inputs.divide(backend_, count.inputs, each.input);
  output_gradients.divide(backend_, count.output_gradients, each.output_gradient);
  input_gradients.divide(backend_, count.input_gradients, each.input_gradient);
  host_slots.buffers.divide(backend_, count.host, each.slot);
  scratch_.divide(backend_, 1, each.scratch);
  caches.divide(backend_, count.caches, each.cache);
  if (count.host > 0) write_gaps();
}

/// Zeroes all slots when they are first used or have grown. A slot is copied to the host whole,
/// including the gaps between its tensors, which nothing else writes.
void Chunk::write_gaps() {
  if (slots.bytes() == written_) return;
  written_ = slots.bytes();
  backend_.zero(stream_, slots[0], written_);
}

std::unique_ptr<layers::Event> Chunk::offload(const MicroBatchRun& run) {
  return host_slots.copy_out(stream_, run.host, {slots[run.slot], run.layout.slot_bytes});
}

std::unique_ptr<layers::Event> Chunk::reload(const MicroBatchRun& run) {
  return host_slots.copy_in(run.host, {slots[run.slot], run.layout.slot_bytes}, run.slot);
}

// The scratch memory is one buffer for the whole stage, since only one layer runs at a time.
std::byte* Chunk::at(const MicroBatchRun& run, const partition::Place& place) const {
  switch (place.region) {
    case Region::slot:
      return slots[run.slot] + place.offset;
    case Region::recomputed:
      return recomputed[run.recomputed] + place.offset;
    case Region::input:
      return inputs[run.input] + place.offset;
    case Region::output_gradient:
      return output_gradients[run.output_gradient] + place.offset;
    case Region::input_gradient:
      return input_gradients[run.input_gradient] + place.offset;
    case Region::scratch:
      break;
  }
  return scratch_[0] + place.offset;
}

std::span<std::byte> Chunk::input_message(const MicroBatchRun& run) const {
  return {inputs[run.input], run.layout.input_message_bytes()};
}

std::span<std::byte> Chunk::output_message(const MicroBatchRun& run) const {
  return {at(run, run.layout.activation_places.back()), run.layout.output_message_bytes()};
}

std::span<std::byte> Chunk::output_gradient(const MicroBatchRun& run) const {
  return {output_gradients[run.output_gradient], run.layout.activations.back().bytes()};
}

std::span<std::byte> Chunk::input_gradient(const MicroBatchRun& run) const {
  return {at(run, run.layout.gradient_places.front()), run.layout.activations.front().bytes()};
}

// The weights travel with the activations, from the loader on the first stage to the loss on the
// last one.
std::span<float> Chunk::loss_weights(const MicroBatchRun& run) const {
  std::byte* lengths_after = inputs[run.input] + run.layout.activations.front().bytes();
  return {reinterpret_cast<float*>(lengths_after), run.work->lengths.size()};
}

/// Returns an FP32 tensor of the same shape for the host: `x_FC` itself, or the workspace if `x_FC`
/// has another type.
layers::Tensor Chunk::in_fp32(const MicroBatchRun& run, const layers::Tensor& x_FC) const {
  if (x_FC.dtype == layers::DType::f32) return x_FC;
  return {at(run, run.layout.workspace), layers::DType::f32, x_FC.shape};
}

// On a CPU, the loader writes straight into the input, or into the workspace if the input is in
// halves. On a device, features come through FeatureStaging.
void Chunk::read(const MicroBatchRun& run, const Fill& fill) {
  const layers::Tensor x_FC = activation(run, 0).only().x_FC;
  if (backend_.kind() != layers::DeviceKind::cpu) {
    prefetch(*run.work, fill);
    return read_from_device(run, x_FC);
  }
  const layers::Tensor read_FC = in_fp32(run, x_FC);
  fill({read_FC.as<float>(), static_cast<std::size_t>(read_FC.size())}, loss_weights(run));
  if (x_FC.dtype != layers::DType::f32) backend_.run(stream_, layers::Cast{read_FC, x_FC});
}

void Chunk::prefetch(const MicroBatchWork& work, const Fill& fill) {
  if (backend_.kind() != layers::DeviceKind::cpu && !staging_.holds_one())
    staging_.send(stream_, features_of(work), fill);
}

FeatureStaging::Count Chunk::features_of(const MicroBatchWork& work) const {
  std::int64_t frames = 0;
  for (const std::int64_t length : work.lengths) frames += length;
  return {static_cast<std::size_t>(frames * options_.features), work.lengths.size()};
}

void Chunk::read_from_device(const MicroBatchRun& run, const layers::Tensor& x_FC) {
  const FeatureStaging::Arrival arrived = staging_.take(stream_);
  if (x_FC.dtype == layers::DType::f32)
    backend_.copy(stream_, x_FC.data, arrived.x_FC.data(), arrived.x_FC.size_bytes());
  else
    backend_.run(stream_, layers::Cast{{const_cast<float*>(arrived.x_FC.data()), layers::DType::f32,
                                        x_FC.shape},
                                       x_FC});
  backend_.copy(stream_, loss_weights(run).data(), arrived.weights.data(),
                arrived.weights.size_bytes());
  staging_.release(stream_);
}

layers::Frames Chunk::logits(const MicroBatchRun& run, bool text) {
  const layers::Activation last = activation(run, run.layout.layers.size() - 1);
  layers::Frames logits = text ? last.frames.back() : last.frames.front();
  const layers::Tensor wide = in_fp32(run, logits.x_FC);
  if (logits.x_FC.dtype != layers::DType::f32)
    backend_.run(stream_, layers::Cast{logits.x_FC, wide});
  logits.x_FC = wide;
  if (backend_.kind() == layers::DeviceKind::cpu) return logits;
  if (logits_.bytes() < wide.bytes()) logits_ = layers::host_buffer(wide.bytes());
  backend_.copy_out(stream_, logits_.data(), wide.data, wide.bytes());
  backend_.synchronize(stream_);
  logits.x_FC.data = logits_.data();
  return logits;
}

layers::Activation Chunk::activation(const MicroBatchRun& run, std::size_t layer) const {
  return layers::place(run.layout.activations[layer], at(run, run.layout.activation_places[layer]));
}

// `layer` counts boundaries: the gradient of the input of this layer, or of the chunk's output. It
// is empty where nothing needs it: at the model's features, and at layers before which nothing is
// trained.
layers::Activation Chunk::gradient(const MicroBatchRun& run, std::size_t layer) const {
  if (layer == 0 && !options_.role.sends_input_gradient) return {};
  if (layer < run.layout.layers.size() && !run.layout.layers[layer].passes_gradient) return {};
  return layers::place(run.layout.activations[layer], at(run, run.layout.gradient_places[layer]));
}

// A layer may ask for its input, its output or the gradients of either. These exist already, so the
// tensors are views of them, and only those of Kind::own take memory of their own. Forward has no
// gradients yet and gets empty tensors.
std::vector<layers::Tensor> Chunk::saved(const MicroBatchRun& run, std::size_t layer,
                                         bool backward) const {
  using Kind = layers::SavedDecl::Kind;
  const std::vector<layers::SavedDecl>& decls = run.layout.layers[layer].saved;
  std::vector<layers::Tensor> tensors;
  for (std::size_t i = 0; i < decls.size(); ++i) {
    const Kind kind = decls[i].kind;
    if (kind == Kind::own) {
      tensors.push_back(
          {at(run, run.layout.saved_places[layer][i]), decls[i].dtype, decls[i].shape});
    } else if (kind == Kind::none) {
      tensors.emplace_back();
    } else if (kind == Kind::input || kind == Kind::output) {
      tensors.push_back(activation(run, layer + (kind == Kind::output)).only().x_FC);
    } else {
      const layers::Activation d =
          backward ? gradient(run, layer + (kind == Kind::output_gradient)) : layers::Activation{};
      tensors.push_back(d.empty() ? layers::Tensor{} : d.only().x_FC);
    }
  }
  return tensors;
}

layers::Context Chunk::context(const MicroBatchRun& run, const StepWork& step, std::size_t layer,
                               layers::Mode mode) const {
  layers::Context context{backend_, stream_};
  context.mode = mode;
  const std::vector<layers::FramesDecl>& frames = run.layout.activations[layer].frames;
  context.lengths = frames.front().lengths;
  if (frames.size() > 1) context.text_lengths = frames[1].lengths;
  std::byte* workspace = at(run, run.layout.workspace);
  // The workspace reaches to the end of the scratch memory.
  context.workspace = {workspace, scratch_[0] + scratch_.bytes()};
  context.random = {step.seed, step.epoch, run.work->utterances};
  return context;
}

std::optional<layers::KeyValueCache> Chunk::cache(const MicroBatchRun& run, std::size_t layer,
                                                  std::span<const std::int64_t> past) const {
  if (run.cache < 0) return std::nullopt;
  const partition::CachePlace& place = run.layout.cache_places[layer];
  if (place.rows == 0) return std::nullopt;
  if (run.layout.layers[layer].caches_memory)
    past = run.layout.activations[layer].frames.front().lengths;
  const layers::Shape shape{std::ssize(past), place.rows, place.channels};
  std::byte* memory = caches[run.cache];
  return layers::KeyValueCache{{memory + place.keys, options_.sizes.compute, shape},
                               {memory + place.values, options_.sizes.compute, shape},
                               past};
}

double* Chunk::time_of(std::vector<double> LayerTimes::*method, std::size_t layer) const {
  return times_ == nullptr ? nullptr : &(times_->*method)[options_.first_layer + layer];
}

// Random numbers follow from seed, epoch, utterance and layer, and not from the order of calls. So
// a layer that is recomputed drops the same values again.
void Chunk::run_forward(MicroBatchRun& run, const StepWork& step, layers::Mode mode,
                        const partition::LayerRun& layers, StepSums& sums) {
  const MicroBatchWork& work = *run.work;
  const bool training = mode == layers::Mode::train;
  layers::Targets targets{work.labels,       work.label_lengths,
                          loss_weights(run), step.scale * step.loss_scale,
                          run.losses,        work.prompts};
  // A micro-batch has a row of sums for all the stage's layers. This run's layers begin after those
  // of earlier chunks, and after this chunk's layers before `layers.first`. Recomputation writes
  // them again.
  const auto number = static_cast<std::size_t>(&work - step.micro_batches.data());
  std::size_t row = number * options_.row_of_sums + options_.first_sum;
  for (int i = 0; i < layers.first; ++i) row += run.layout.layers[i].sums;
  layers::Targets auxiliary = targets;
  if (training) run.auxiliary_losses.resize(work.lengths.size());
  auxiliary.losses = run.auxiliary_losses;
  const std::vector<std::int64_t> none(run.cache < 0 ? 0 : work.lengths.size());  // cached rows
  for (int i = layers.first; i < layers.last; ++i) {
    const layers::LayerPlan& plan = run.layout.layers[i];
    const bool is_loss = plan.needs_targets && plan.output.frames.empty();
    if (is_loss && work.label_lengths.empty()) continue;  // no loss when transcribing
    layers::Context c = context(run, step, i, mode);
    if (training) {
      c.sums = std::span(sums.state).subspan(row, plan.sums);
      row += plan.sums;
    }
    if (plan.needs_targets) c.targets = &targets;
    if (training && plan.auxiliary_loss) c.targets = &auxiliary;
    const std::optional<layers::KeyValueCache> kept_rows = cache(run, i, none);
    if (kept_rows) c.cache = &*kept_rows;
    const layers::Activation x = activation(run, i);
    layers::Activation y = activation(run, i + 1);
    const auto kept = training ? saved(run, i, false) : std::vector<layers::Tensor>{};
    const layers::WorkspaceScope lending(stream_, c.workspace);
    timed(backend_, stream_, time_of(&LayerTimes::forward, i), [&] {
      options_.layers[i]->forward(c, parameters_.params(options_.first_layer + i), x, y, kept);
    });
    stream_.progress();
  }
}

// A message is sent whole, including the gaps between its matrices and after its weights. They are
// zeroed, so that no uninitialised bytes are sent.
void Chunk::forward(MicroBatchRun& run, const StepWork& step, layers::Mode mode, StepSums& sums) {
  run.losses.resize(run.work->lengths.size() * run.layout.layers.back().losses);
  run_forward(run, step, mode, {0, static_cast<int>(options_.layers.size())}, sums);
  if (!options_.role.sends_output) return;
  fill_gaps(activation(run, options_.layers.size()));
  std::byte* weights = output_message(run).data() + run.layout.activations.back().bytes();
  const std::span<const float> of_losses = loss_weights(run);
  backend_.zero(stream_, weights, run.layout.weights_bytes);
  backend_.copy(stream_, weights, of_losses.data(), of_losses.size_bytes());
}

void Chunk::recompute_output(MicroBatchRun& run, const StepWork& step, StepSums& sums) {
  if (!runs_backward(run, options_.layers.size() - 1)) return;
  run_forward(run, step, layers::Mode::train, run.layout.recomputed_runs.back(), sums);
}

/// Recomputes the run of layers that ends with `layer`, if there is one. Runs that end with the
/// chunk are left to recompute_output().
void Chunk::recompute_before(MicroBatchRun& run, const StepWork& step, std::size_t layer,
                             StepSums& sums) {
  if (layer + 1 == options_.layers.size()) return;
  for (const partition::LayerRun& layers : run.layout.recomputed_runs)
    if (layers.last == static_cast<int>(layer) + 1)
      run_forward(run, step, layers::Mode::train, layers, sums);
}

// Layers in front of all trained ones have no backward, but are reported as done nevertheless: the
// sum over replicas waits for every layer.
void Chunk::backward(MicroBatchRun& run, const StepWork& step, StepSums& sums,
                     const LayerDone& layer_done) {
  for (std::size_t i = options_.layers.size(); i-- > 0;) {
    if (runs_backward(run, i)) {
      recompute_before(run, step, i, sums);
      backward_input(run, step, i);
      backward_weight(run, step, i);
    }
    layer_done(options_.first_layer + i);
    stream_.progress();
  }
  finish_input_gradient(run);
}

// The first layer without backward ends the loop, since those before it have none either.
void Chunk::backward_input(MicroBatchRun& run, const StepWork& step, StepSums& sums) {
  for (std::size_t i = options_.layers.size(); i-- > 0 && runs_backward(run, i);) {
    recompute_before(run, step, i, sums);
    backward_input(run, step, i);
  }
  finish_input_gradient(run);
}

/// Completes the gradient that the chunk sends. If no layer passes one on, the message is zeros,
/// which no receiver needs.
void Chunk::finish_input_gradient(const MicroBatchRun& run) {
  if (!options_.role.sends_input_gradient) return;
  if (run.layout.layers.front().passes_gradient) return fill_gaps(gradient(run, 0));
  const std::span<std::byte> message = input_gradient(run);
  backend_.zero(stream_, message.data(), message.size());
}

void Chunk::backward_weight(const MicroBatchRun& run, const StepWork& step,
                            const LayerDone& layer_done) {
  for (std::size_t i = options_.layers.size(); i-- > 0;) {
    backward_weight(run, step, i);
    layer_done(options_.first_layer + i);
    stream_.progress();
  }
}

void Chunk::backward_input(const MicroBatchRun& run, const StepWork& step, std::size_t layer) {
  const auto kept = saved(run, layer, true);
  layers::Context c = context(run, step, layer, layers::Mode::train);
  layers::Targets targets = labels_in(*run.work);
  if (run.layout.layers[layer].needs_targets) c.targets = &targets;
  const layers::Activation dy = gradient(run, layer + 1);
  layers::Activation dx = gradient(run, layer);
  const layers::WorkspaceScope lending(stream_, c.workspace);
  timed(backend_, stream_, time_of(&LayerTimes::backward_input, layer), [&] {
    options_.layers[layer]->backward_input(c, parameters_.params(options_.first_layer + layer), dy,
                                           kept, dx);
  });
  stream_.progress();
}

void Chunk::backward_weight(const MicroBatchRun& run, const StepWork& step, std::size_t layer) {
  if (!run.layout.layers[layer].trained()) return;
  const auto kept = saved(run, layer, true);
  layers::Context c = context(run, step, layer, layers::Mode::train);
  layers::Targets targets = labels_in(*run.work);
  if (run.layout.layers[layer].needs_targets) c.targets = &targets;
  const layers::WorkspaceScope lending(stream_, c.workspace);
  timed(backend_, stream_, time_of(&LayerTimes::backward_weight, layer), [&] {
    options_.layers[layer]->backward_weight(
        c, kept, parameters_.grads(options_.first_layer + layer, run.work->lane));
  });
}

void Chunk::copy(std::span<std::byte> to, std::span<const std::byte> from) {
  backend_.copy(stream_, to.data(), from.data(), to.size());
}

/// Zeroes the padding after each matrix of a message, because it is sent too.
void Chunk::fill_gaps(const layers::Activation& message) {
  for (const layers::Frames& frames : message.frames) {
    const std::size_t bytes = frames.x_FC.bytes(), gap = layers::aligned(bytes) - bytes;
    if (gap > 0) backend_.zero(stream_, static_cast<std::byte*>(frames.x_FC.data) + bytes, gap);
  }
}

}  // namespace penstock::runtime
