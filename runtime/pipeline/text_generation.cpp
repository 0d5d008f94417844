#include "runtime/pipeline/text_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "comm/tags.h"
#include "layers/losses/token_cross_entropy.h"
#include "layers/models/rated_layer.h"
#include "layers/ops/elementwise.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"
#include "runtime/pipeline/edge_tag.h"

// Every rank of the decoder goes through rounds and micro-batches in the same order, and does three
// things for each: it learns the labels of the round, runs its layers, and passes the rows on. So
// no message needs a number, and no rank waits for one that waits for it. All ranks count the
// labels, and thus know which texts go on, how many rows travel, and when a window ends.
//
//   rank of the first chunk    labels → rows → layers → rows        ↖ labels
//   next ranks                               rows → layers → rows     (to every rank)
//   rank of the last layer                                 rows → layers → likeliest class
//
// A row of a text costs each layer its weights once, and attention the rows before it. Rows and
// workspace lie in the stage's scratch memory, which no evaluation uses between its windows.

namespace penstock::runtime {
namespace {

// Logits of rows that are chosen from at once have at most so many numbers, unless one row has
// more.
constexpr std::int64_t kLogits = std::int64_t{1} << 20;

/// Returns the place of the largest logit, the first of equals.
std::int32_t likeliest(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

/// Returns an activation of the next rows of texts, whose other matrices have no rows.
layers::Activation rows_alone(const layers::ActivationDecl& decl, const layers::Tensor& text) {
  layers::Activation activation;
  for (const layers::FramesDecl& frames : decl.frames)
    activation.frames.push_back({{text.data, text.dtype, {0, frames.channels}}, frames.lengths});
  activation.frames.back().x_FC = text;
  return activation;
}

}  // namespace

/// The layers of a chunk that a round runs, planned for the rows of the texts that go on.
struct TextGeneration::Round {
  std::size_t first = 0, end = 0;  // layers of the chunk
  std::shared_ptr<const partition::PlannedLayers> planned;

  std::int64_t width() const { return planned->activations.front().frames.back().channels; }
  std::int64_t rows() const { return planned->activations.front().frames.back().rows(); }
};

/// The texts of one micro-batch. An utterance's text goes on while `growing` is 1.
struct TextGeneration::Texts {
  const MicroBatchWork* work = nullptr;
  std::vector<MicroBatchRun> runs = {};    // of own_, with their caches
  std::vector<std::int64_t> past = {};     // rows of each utterance that are cached and count
  std::vector<std::int64_t> most = {};     // labels of each utterance at most
  std::vector<std::int64_t> growing = {};  // 1 or 0
  std::vector<std::int32_t> next = {};     // class of each utterance in this round
  std::vector<std::vector<std::int32_t>> labels = {};
  std::vector<float> first_rows = {};  // rows that predict the first labels
  std::vector<std::int32_t> told = {};
  std::vector<std::optional<Round>> rounds = {};  // of own_; they change when a text ends
  std::vector<std::unique_ptr<comm::Transfer>> telling = {}, passing = {};

  std::int64_t rows() const { return std::ranges::count(growing, 1); }

  /// Takes the classes of a round: each goes on its text, or ends it.
  void advance(std::int32_t eos) {
    for (std::size_t u = 0; u < growing.size(); ++u) {
      if (growing[u] == 0) continue;
      if (next[u] != eos) labels[u].push_back(next[u]);
      if (next[u] != eos && std::ssize(labels[u]) < most[u]) continue;
      growing[u] = 0;
      for (std::optional<Round>& round : rounds) round.reset();
    }
  }

  /// Returns the rows before the next one of the texts that go on.
  std::vector<std::int64_t> positions() const {
    std::vector<std::int64_t> positions;
    for (std::size_t u = 0; u < growing.size(); ++u)
      if (growing[u] > 0) positions.push_back(past[u]);
    return positions;
  }

  /// Returns the classes of the texts that go on.
  std::vector<std::int32_t> ids() const {
    std::vector<std::int32_t> ids;
    for (std::size_t u = 0; u < growing.size(); ++u)
      if (growing[u] > 0) ids.push_back(next[u]);
    return ids;
  }
};

/// Scratch memory of a chunk's round: two regions of rows, between which layers alternate, and for
/// the last chunk what a choice needs.
struct TextGeneration::Room {
  layers::Tensor ids_R, wide_RW, logits_NV, wide_NV;
  std::array<std::byte*, 2> rows{};
  std::byte* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

TextGeneration::TextGeneration(const StageParts& stage, const layers::TextWriting& writing,
                               Heard heard, std::function<void()> progress)
    : stage_(stage), writing_(writing), heard_(std::move(heard)), progress_(std::move(progress)) {
  const auto plans = partition::plan_without_frames(stage_.sequence, stage_.sizes);
  reader_ = partition::first_label_reader(plans);
  for (int i = reader_ + 1; i + 1 < std::ssize(plans); ++i)
    (void)layers::cache_channels(plans[i], stage_.sequence.layers[i]->name());
  while (stage_.cut.at(first_chunk_ + 1) <= reader_) ++first_chunk_;
  for (std::size_t i = 0; i < stage_.local.chunks.size(); ++i)
    if (stage_.local.chunks[i] >= first_chunk_) own_.push_back(i);
  if (!last()) return;
  for (std::size_t c = first_chunk_; c < stage_.chunk_ranks.size(); ++c)
    if (const int rank = stage_.chunk_ranks[c];
        rank != stage_.host.rank() && std::ranges::count(listeners_, rank) == 0)
      listeners_.push_back(rank);
}

TextGeneration::~TextGeneration() = default;

std::size_t TextGeneration::local_reader() const {
  return stage_.local.first_layers[own_.front()] +
         static_cast<std::size_t>(reader_ - stage_.cut[first_chunk_]);
}

const layers::TextReader& TextGeneration::reader() const {
  return dynamic_cast<const layers::TextReader&>(
      layers::unrated(*stage_.local.layers[local_reader()]));
}

layers::Params TextGeneration::table() const { return stage_.parameters.params(local_reader()); }

layers::Params TextGeneration::head() const {
  return stage_.parameters.params(stage_.local.layers.size() - 1);
}

TextGeneration::Texts TextGeneration::make_texts(const MicroBatchWork& work, int buffer) const {
  Texts texts{.work = &work};
  for (const std::size_t own : own_) {
    MicroBatchRun& run = texts.runs.emplace_back();
    run.work = &work;
    run.layout = stage_.chunks[own].lay_out(work, layers::Mode::evaluate);
    run.cache = buffer;
  }
  const layers::ActivationDecl before =
      partition::activation_before_text(stage_.sequence, work.lengths, stage_.sizes);
  texts.past = before.frames.back().lengths;
  texts.most = partition::most_written(before);
  texts.growing.assign(texts.past.size(), 1);
  texts.next.resize(texts.past.size());
  texts.labels.resize(texts.past.size());
  texts.passing.resize(own_.size());
  texts.rounds.resize(own_.size());
  return texts;
}

void TextGeneration::begin(std::span<const MicroBatchWork> window) {
  window_.clear();
  if (!writes()) return;
  for (std::size_t m = 0; m < window.size(); ++m)
    window_.push_back(make_texts(window[m], static_cast<int>(m)));
}

// Rows are copied, since a choice needs the scratch memory in which they may lie.
void TextGeneration::read(const MicroBatchWork& work, const layers::Frames& rows) {
  const auto texts = std::ranges::find(window_, &work, &Texts::work);
  const auto width = static_cast<std::size_t>(rows.channels());
  const float* row = rows.x_FC.as<float>();
  for (std::size_t u = 0; u < texts->past.size(); ++u) {
    const float* before_text = row + static_cast<std::size_t>(texts->past[u] - 1) * width;
    texts->first_rows.insert(texts->first_rows.end(), before_text, before_text + width);
    row += static_cast<std::size_t>(rows.lengths[u]) * width;
  }
}

void TextGeneration::write() {
  if (last())
    for (Texts& texts : window_) choose_first(texts);
  for (bool growing = true; growing;) {
    growing = false;
    for (Texts& texts : window_) {
      if (texts.rows() == 0) continue;
      learn(texts);
      if (texts.rows() == 0) continue;
      growing = true;
      for (std::size_t k = 0; k < own_.size(); ++k) run_chunk(texts, k);
      for (std::size_t u = 0; u < texts.past.size(); ++u) texts.past[u] += texts.growing[u];
    }
    if (progress_) progress_();
  }
  for (Texts& texts : window_) {
    for (auto* messages : {&texts.telling, &texts.passing})
      for (auto& transfer : *messages)
        if (transfer) wait(*transfer);
    if (last()) heard_(*texts.work, std::move(texts.labels));
  }
}

/// Makes the classes of a round known to all ranks of the decoder.
void TextGeneration::learn(Texts& texts) {
  const int from = stage_.chunk_ranks.back();
  const std::string what = "labels of texts";
  if (!last()) {
    wait(*stage_.host.receive({from, comm::tags::written, what},
                              std::as_writable_bytes(std::span(texts.next))));
  } else {
    for (auto& transfer : texts.telling) wait(*transfer);
    texts.telling.clear();
    texts.told = texts.next;
    for (const int rank : listeners_)
      texts.telling.push_back(stage_.host.send({rank, comm::tags::written, what},
                                               std::as_bytes(std::span(texts.told))));
  }
  texts.advance(writing_.eos);
}

/// Waits for a message, while those of the layers move too.
void TextGeneration::wait(comm::Transfer& transfer) {
  comm::Backoff backoff;
  while (!transfer.done()) {
    stage_.pipeline.progress();
    stage_.host.progress();
    backoff.pause();
  }
}

/// Plans the layers between the one that reads labels and the loss.
TextGeneration::Round TextGeneration::plan_round(const Texts& texts, std::size_t k) const {
  const int chunk = stage_.local.chunks[own_[k]], begin = stage_.cut[chunk];
  const partition::MicroBatchLayout& layout = texts.runs[k].layout;
  Round round;
  round.first = static_cast<std::size_t>(std::max(0, reader_ + 1 - begin));
  round.end = layout.layers.size() - (is_last(chunk) ? 1 : 0);
  layers::ActivationDecl input = layout.activations[round.first];
  for (layers::FramesDecl& frames : input.frames) frames.lengths.assign(texts.growing.size(), 0);
  input.frames.back().lengths = texts.growing;
  input.labels.assign(texts.growing.size(), 0);
  const partition::LayerRange all(stage_.sequence.layers);
  round.planned = partition::plan_range(
      all.subspan(static_cast<std::size_t>(begin) + round.first, round.end - round.first), input,
      stage_.sizes);
  return round;
}

/// Takes the scratch memory of a chunk's round from `scratch`, which counts if it has no memory.
TextGeneration::Room TextGeneration::room_in(layers::Scratch& scratch, const Round& round,
                                             int chunk) const {
  const layers::DType compute = stage_.sizes.compute;
  const std::int64_t R = round.rows(), W = round.width();
  std::int64_t widest = 0;
  Room room;
  for (const layers::ActivationDecl& rows : round.planned->activations)
    widest = std::max(widest, rows.frames.back().channels);
  for (const layers::LayerPlan& plan : round.planned->layers)
    room.workspace_bytes = std::max(room.workspace_bytes, plan.workspace.forward);
  for (std::byte*& rows : room.rows)
    rows =
        scratch.take<std::byte>(R * widest * static_cast<std::int64_t>(layers::size_of(compute)));
  const auto lend = [&](std::initializer_list<std::int64_t> counts) {
    room.workspace_bytes = std::max(room.workspace_bytes, layers::widened(stage_.sizes, counts));
  };
  if (chunk == first_chunk_) {
    room.ids_R = layers::tensor_in(scratch, layers::DType::i32, {R});
    room.workspace_bytes =
        std::max(room.workspace_bytes, reader().embed_workspace(stage_.sizes, R));
  }
  if (is_last(chunk)) {
    const std::int64_t V = head().weights.back().shape[0],
                       n = std::clamp<std::int64_t>(kLogits / V, 1, R);
    room.wide_RW = layers::tensor_in(scratch, layers::DType::f32, {R, W});
    room.logits_NV = layers::tensor_in(scratch, compute, {n, V});
    room.wide_NV = layers::tensor_in(scratch, layers::DType::f32, {n, V});
    lend({n * W, V * W, n * V, head().weights.size() > 1 ? V : 0});
    lend({R * W});
  }
  room.workspace = scratch.take<std::byte>(static_cast<std::int64_t>(room.workspace_bytes));
  return room;
}

TextGeneration::Room TextGeneration::make_room(const Round& round, int chunk) const {
  layers::Scratch counting;
  (void)room_in(counting, round, chunk);
  stage_.scratch.reserve(stage_.backend, counting.used());
  layers::Scratch memory({stage_.scratch[0], counting.used()});
  return room_in(memory, round, chunk);
}

layers::Context TextGeneration::context(const Room& room) const {
  layers::Context context{stage_.backend, stage_.stream};
  context.mode = layers::Mode::evaluate;
  context.workspace = {room.workspace, room.workspace_bytes};
  return context;
}

// Rows travel in the buffer of caches, which each micro-batch keeps until its window ends.
void TextGeneration::run_chunk(Texts& texts, std::size_t k) {
  const std::size_t own = own_[k];
  const int chunk = stage_.local.chunks[own];
  if (!texts.rounds[k]) texts.rounds[k] = plan_round(texts, k);
  const Round& round = *texts.rounds[k];
  const Room room = make_room(round, chunk);
  if (texts.passing[k]) wait(*texts.passing[k]);
  layers::Tensor rows = take_rows(texts, k, room, round);
  layers::Context context = this->context(room);
  const layers::WorkspaceScope lending(stage_.stream, context.workspace);
  for (std::size_t i = round.first; i < round.end; ++i) {
    const layers::ActivationDecl& input = round.planned->activations[i - round.first];
    const layers::ActivationDecl& output = round.planned->activations[i - round.first + 1];
    const layers::Tensor next{room.rows[(i - round.first + 1) % 2], rows.dtype,
                              output.frames.back().shape()};
    const std::optional<layers::KeyValueCache> cache =
        stage_.chunks[own].cache(texts.runs[k], i, texts.past);
    context.lengths = input.frames.front().lengths;
    context.cache = cache ? &*cache : nullptr;
    layers::Activation y = rows_alone(output, next);
    stage_.local.layers[stage_.local.first_layers[own] + i]->forward(
        context, stage_.parameters.params(stage_.local.first_layers[own] + i),
        rows_alone(input, rows), y, {});
    rows = next;
    stage_.stream.progress();
  }
  if (is_last(chunk)) return choose(texts, rows, room);
  pass_on(texts, k, rows);
}

/// Returns the rows that enter a chunk's layers: embeddings of the labels, or those of the chunk
/// before it.
layers::Tensor TextGeneration::take_rows(Texts& texts, std::size_t k, const Room& room,
                                         const Round& round) {
  const int chunk = stage_.local.chunks[own_[k]];
  layers::Tensor rows{room.rows[0], stage_.sizes.compute, {round.rows(), round.width()}};
  if (chunk == first_chunk_) {
    const std::vector<std::int32_t> ids = texts.ids();
    stage_.backend.copy_in(stage_.stream, room.ids_R.data, ids.data(), room.ids_R.bytes());
    layers::Context context = this->context(room);
    const layers::WorkspaceScope lending(stage_.stream, context.workspace);
    const std::vector<std::int64_t> positions = texts.positions();
    reader().embed(context, table(), {room.ids_R, positions, rows});
    return rows;
  }
  const int from = stage_.chunk_ranks[chunk - 1];
  if (from == stage_.pipeline.rank()) {
    stage_.backend.copy(stage_.stream, rows.data,
                        stage_.chunks[own_[k - 1]].rows_out(texts.runs[k - 1]), rows.bytes());
    return rows;
  }
  layers::Tensor arrived = rows;
  arrived.data = stage_.chunks[own_[k]].rows_in(texts.runs[k]);
  wait(*stage_.pipeline.receive({from, edge_tag(chunk - 1, false), "rows of texts"},
                                {static_cast<std::byte*>(arrived.data), arrived.bytes()}));
  return arrived;
}

/// Leaves the rows where the next chunk finds them, and sends them if that is another rank's.
void TextGeneration::pass_on(Texts& texts, std::size_t k, const layers::Tensor& rows) {
  const int chunk = stage_.local.chunks[own_[k]], to = stage_.chunk_ranks[chunk + 1];
  std::byte* out = stage_.chunks[own_[k]].rows_out(texts.runs[k]);
  stage_.backend.copy(stage_.stream, out, rows.data, rows.bytes());
  if (to != stage_.pipeline.rank())
    texts.passing[k] =
        stage_.pipeline.send({to, edge_tag(chunk, false), "rows of texts"}, {out, rows.bytes()});
}

// The first labels follow from rows of the window's forward pass. All texts go on there.
void TextGeneration::choose_first(Texts& texts) {
  const std::size_t k = own_.size() - 1;
  const Round round = plan_round(texts, k);
  const Room room = make_room(round, stage_.local.chunks[own_[k]]);
  const layers::Tensor rows{room.rows[0], stage_.sizes.compute, room.wide_RW.shape};
  stage_.backend.copy_in(stage_.stream, room.wide_RW.data, texts.first_rows.data(),
                         room.wide_RW.bytes());
  const layers::WorkspaceScope lending(stage_.stream, {room.workspace, room.workspace_bytes});
  stage_.backend.run(stage_.stream, layers::Cast{room.wide_RW, rows});
  choose(texts, rows, room);
}

/// Sets the next class of each text that goes on: the likeliest one after its row, the first of
/// equals.
void TextGeneration::choose(Texts& texts, const layers::Tensor& rows_RW, const Room& room) const {
  const std::int64_t R = rows_RW.shape[0], V = room.logits_NV.shape[1];
  layers::Context context = this->context(room);
  std::vector<float> logits(static_cast<std::size_t>(room.wide_NV.size()));
  std::vector<std::int32_t> chosen;
  for (std::int64_t first = 0; first < R; first += room.logits_NV.shape[0]) {
    const std::int64_t count = std::min(room.logits_NV.shape[0], R - first);
    const layers::Tensor logits_NV = layers::rows(room.logits_NV, 0, count),
                         wide_NV = layers::rows(room.wide_NV, 0, count);
    layers::TokenCrossEntropy::score(context, head(), layers::rows(rows_RW, first, count),
                                     logits_NV);
    stage_.backend.run(stage_.stream, layers::Cast{logits_NV, wide_NV});
    stage_.backend.copy_out(stage_.stream, logits.data(), wide_NV.data, wide_NV.bytes());
    stage_.backend.synchronize(stage_.stream);
    for (std::int64_t r = 0; r < count; ++r)
      chosen.push_back(likeliest(
          std::span(logits).subspan(static_cast<std::size_t>(r * V), static_cast<std::size_t>(V))));
  }
  auto next = chosen.begin();
  for (std::size_t u = 0; u < texts.growing.size(); ++u)
    if (texts.growing[u] > 0) texts.next[u] = *next++;
}

}  // namespace penstock::runtime
