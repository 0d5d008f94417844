#include "runtime/pipeline/text_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/tags.h"
#include "layers/losses/token_cross_entropy.h"
#include "layers/models/rated_layer.h"
#include "layers/ops/elementwise.h"
#include "layers/tensor_views.h"
#include "layers/widened.h"
#include "runtime/pipeline/edge_tag.h"

// Every rank of the decoder goes through rounds and micro-batches in the same order, and does four
// things for each: it learns the steps of the round, copies rows of caches to where these say, runs
// its layers, and passes the rows on. So no message needs a number, and no rank waits for one that
// waits for it. All ranks see from the steps which hypotheses go on, how many rows travel, and when
// a window ends.
//
//   rank of the first chunk    steps → copies → rows → layers → rows        ↖ steps
//   next ranks                         copies → rows → layers → rows          (to every rank)
//   rank of the last layer             copies → rows → layers → classes → search
//
// A row of a text costs each layer its weights once, and attention the rows before it. Rows and
// workspace lie in the stage's scratch memory, which no evaluation uses between its windows.

namespace penstock::runtime {
namespace {

// Logits of rows that are chosen from at once have at most so many numbers, unless one row has
// more.
constexpr std::int64_t kLogits = std::int64_t{1} << 20;

/// Returns an activation of the next rows of texts, whose other matrices have no rows.
layers::Activation rows_alone(const layers::ActivationDecl& decl, const layers::Tensor& text) {
  layers::Activation activation;
  for (const layers::FramesDecl& frames : decl.frames)
    activation.frames.push_back({{text.data, text.dtype, {0, frames.channels}}, frames.lengths});
  activation.frames.back().x_FC = text;
  return activation;
}

}  // namespace

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
  if (stage_.sequence.beam != writing_.decoding.beam)
    throw ShapeError(fmt::format(
        "texts are to be written with a beam of {}, but caches have room for {}: set "
        "LayerSequence::beam",
        writing_.decoding.beam, counted(stage_.sequence.beam, "hypothesis", "hypotheses")));
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

GrowingTexts TextGeneration::make_texts(const MicroBatchWork& work, int buffer) const {
  GrowingTexts texts(work, writing_.decoding.beam,
                     partition::activation_before_text(stage_.sequence, work.lengths, stage_.sizes),
                     own_.size());
  for (const std::size_t own : own_) {
    MicroBatchRun& run = texts.runs.emplace_back();
    run.work = &work;
    run.layout = stage_.chunks[own].lay_out(work, layers::Mode::evaluate);
    run.cache = buffer;
  }
  return texts;
}

GrowingTexts& TextGeneration::texts_of(const MicroBatchWork& work) {
  return *std::ranges::find(window_, &work, &GrowingTexts::work);
}

void TextGeneration::begin(std::span<const MicroBatchWork> window) {
  window_.clear();
  if (!writes()) return;
  for (std::size_t m = 0; m < window.size(); ++m)
    window_.push_back(make_texts(window[m], static_cast<int>(m)));
}

// Rows are copied, since a choice needs the scratch memory in which they may lie.
void TextGeneration::read(const MicroBatchWork& work, const layers::Frames& rows) {
  GrowingTexts& texts = texts_of(work);
  const auto width = static_cast<std::size_t>(rows.channels());
  const float* row = rows.x_FC.as<float>();
  for (std::size_t u = 0; u < texts.past.size(); ++u) {
    const float* before_text = row + static_cast<std::size_t>(texts.past[u] - 1) * width;
    texts.first_rows.insert(texts.first_rows.end(), before_text, before_text + width);
    row += static_cast<std::size_t>(rows.lengths[u]) * width;
  }
}

void TextGeneration::read_frames(const MicroBatchWork& work, const layers::Frames& logits) {
  GrowingTexts& texts = texts_of(work);
  const float* row = logits.x_FC.as<float>();
  for (std::size_t u = 0; u < texts.past.size(); ++u) {
    const float* const end = row + logits.lengths[u] * logits.channels();
    texts.ctc[u] =
        std::make_shared<layers::CtcPrefixScore>(std::vector<float>(row, end), logits.channels());
    row = end;
  }
}

void TextGeneration::write() {
  if (last())
    for (GrowingTexts& texts : window_) choose_first(texts);
  for (bool growing = true; growing;) {
    growing = false;
    for (GrowingTexts& texts : window_) {
      if (!texts.grow()) continue;
      learn(texts);
      if (!texts.grow()) continue;
      growing = true;
      for (std::size_t k = 0; k < own_.size(); ++k) run_chunk(texts, k);
      texts.count_rows();
    }
    if (progress_) progress_();
  }
  for (GrowingTexts& texts : window_) {
    for (auto* messages : {&texts.telling, &texts.passing})
      for (auto& transfer : *messages)
        if (transfer) wait(*transfer);
    if (!last()) continue;
    std::vector<Texts> found;
    for (const layers::TextBeam& search : texts.searches) found.push_back(search.hypotheses());
    heard_(*texts.work, std::move(found));
  }
}

/// Makes the steps of a round known to all ranks of the decoder, whose caches follow.
void TextGeneration::learn(GrowingTexts& texts) {
  const int from = stage_.chunk_ranks.back();
  const std::string what = "labels of texts";
  if (!last()) {
    wait(*stage_.host.receive({from, comm::tags::written, what},
                              std::as_writable_bytes(std::span(texts.steps))));
  } else {
    for (auto& transfer : texts.telling) wait(*transfer);
    texts.telling.clear();
    texts.told = texts.steps;
    for (const int rank : listeners_)
      texts.telling.push_back(stage_.host.send({rank, comm::tags::written, what},
                                               std::as_bytes(std::span(texts.told))));
  }
  texts.advance();
  follow(texts, texts.slots.copies(texts.steps, texts.past));
}

/// Copies rows in all caches of texts.
void TextGeneration::follow(const GrowingTexts& texts, std::span<const SlotCopy> copies) {
  if (copies.empty()) return;
  for (std::size_t k = 0; k < own_.size(); ++k)
    for (std::size_t i = 0; i < texts.runs[k].layout.layers.size(); ++i) {
      if (texts.runs[k].layout.layers[i].caches_memory) continue;
      const auto cache = stage_.chunks[own_[k]].cache(texts.runs[k], i, texts.past_of_slots);
      if (!cache) continue;
      for (const auto& [from_slot, to_slot, first, end] : copies)
        layers::copy_cached(stage_.backend, stage_.stream, {*cache, from_slot}, {*cache, to_slot},
                            {first, end});
    }
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
TextRound TextGeneration::plan_round(const GrowingTexts& texts, std::size_t k) const {
  const int chunk = stage_.local.chunks[own_[k]], begin = stage_.cut[chunk];
  const partition::MicroBatchLayout& layout = texts.runs[k].layout;
  const int first = std::max(0, reader_ + 1 - begin),
            end = static_cast<int>(layout.layers.size()) - (is_last(chunk) ? 1 : 0);
  return TextRound(texts, layout,
                   {partition::LayerRange(stage_.sequence.layers).subspan(std::size_t(begin)),
                    {first, end},
                    stage_.sizes});
}

/// Takes the scratch memory of a chunk's round from `scratch`, which counts if it has no memory.
TextGeneration::Room TextGeneration::room_in(layers::Scratch& scratch, const TextRound& round,
                                             int chunk) const {
  const layers::DType compute = stage_.sizes.compute;
  const std::int64_t R = round.rows(), W = round.width();
  std::int64_t widest = W;
  Room room;
  for (const TextRound::Part& part : round.parts) {
    widest = std::max(widest, part.output.frames.back().channels);
    room.workspace_bytes = std::max(room.workspace_bytes, part.workspace);
  }
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

TextGeneration::Room TextGeneration::make_room(const TextRound& round, int chunk) const {
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
void TextGeneration::run_chunk(GrowingTexts& texts, std::size_t k) {
  const std::size_t own = own_[k];
  const int chunk = stage_.local.chunks[own];
  if (!texts.rounds[k]) texts.rounds[k] = plan_round(texts, k);
  const TextRound& round = *texts.rounds[k];
  const Room room = make_room(round, chunk);
  if (texts.passing[k]) wait(*texts.passing[k]);
  layers::Tensor rows = take_rows(texts, k, room, round);
  layers::Context context = this->context(room);
  const layers::WorkspaceScope lending(stage_.stream, context.workspace);
  bool second = true;  // region of the next rows
  for (const auto& [i, input, output, workspace] : round.parts) {
    const layers::Tensor next{room.rows[second ? 1 : 0], rows.dtype, output.frames.back().shape()};
    const std::optional<layers::KeyValueCache> cache =
        stage_.chunks[own].cache(texts.runs[k], i, texts.past_of_slots);
    context.lengths = input.frames.front().lengths;
    context.cache = cache ? &*cache : nullptr;
    layers::Activation y = rows_alone(output, next);
    stage_.local.layers[stage_.local.first_layers[own] + i]->forward(
        context, stage_.parameters.params(stage_.local.first_layers[own] + i),
        rows_alone(input, rows), y, {});
    rows = next;
    second = !second;
    stage_.stream.progress();
  }
  if (is_last(chunk)) return choose(texts, rows, room, writing_.suppress);
  pass_on(texts, k, rows);
}

/// Returns the rows that enter a chunk's layers: embeddings of the labels, or those of the chunk
/// before it.
layers::Tensor TextGeneration::take_rows(GrowingTexts& texts, std::size_t k, const Room& room,
                                         const TextRound& round) {
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
void TextGeneration::pass_on(GrowingTexts& texts, std::size_t k, const layers::Tensor& rows) {
  const int chunk = stage_.local.chunks[own_[k]], to = stage_.chunk_ranks[chunk + 1];
  std::byte* out = stage_.chunks[own_[k]].rows_out(texts.runs[k]);
  stage_.backend.copy(stage_.stream, out, rows.data, rows.bytes());
  if (to != stage_.pipeline.rank())
    texts.passing[k] =
        stage_.pipeline.send({to, edge_tag(chunk, false), "rows of texts"}, {out, rows.bytes()});
}

// The first labels follow from rows of the window's forward pass. All texts go on there.
void TextGeneration::choose_first(GrowingTexts& texts) {
  texts.begin_searches({.beam = writing_.decoding.beam,
                        .length_penalty = writing_.decoding.length_penalty.value_or(1),
                        .ctc_weight = writing_.scored_ctc_weight(),
                        .eos = writing_.eos});
  const std::size_t k = own_.size() - 1;
  const TextRound round = plan_round(texts, k);
  const Room room = make_room(round, stage_.local.chunks[own_[k]]);
  const layers::Tensor rows{room.rows[0], stage_.sizes.compute, room.wide_RW.shape};
  stage_.backend.copy_in(stage_.stream, room.wide_RW.data, texts.first_rows.data(),
                         room.wide_RW.bytes());
  const layers::WorkspaceScope lending(stage_.stream, {room.workspace, room.workspace_bytes});
  stage_.backend.run(stage_.stream, layers::Cast{room.wide_RW, rows});
  std::vector<std::int32_t> suppressed = writing_.suppress;
  suppressed.insert(suppressed.end(), writing_.begin_suppress.begin(),
                    writing_.begin_suppress.end());
  choose(texts, rows, room, suppressed);
}

/// Lets each search choose by the classes after its rows.
void TextGeneration::choose(GrowingTexts& texts, const layers::Tensor& rows_RW, const Room& room,
                            std::span<const std::int32_t> suppressed) const {
  const Classes classes =
      likeliest(rows_RW, room, texts.searches.front().classes_of_row(), suppressed);
  const std::vector<std::int64_t> counts = texts.growing_of_utterances();
  std::size_t row = 0;
  for (std::size_t u = 0; u < counts.size(); ++u) {
    if (counts[u] == 0) continue;
    const auto count = static_cast<std::size_t>(counts[u]);
    texts.searches[u].choose(std::span(classes).subspan(row, count));
    std::ranges::copy(texts.searches[u].steps(),
                      texts.steps.begin() + std::ptrdiff_t(u * texts.beam));
    row += count;
  }
}

/// Returns the likeliest classes after each row.
TextGeneration::Classes TextGeneration::likeliest(const layers::Tensor& rows_RW, const Room& room,
                                                  int count,
                                                  std::span<const std::int32_t> suppressed) const {
  const std::int64_t R = rows_RW.shape[0], V = room.logits_NV.shape[1];
  layers::Context context = this->context(room);
  std::vector<float> logits(static_cast<std::size_t>(room.wide_NV.size()));
  Classes found;
  for (std::int64_t first = 0; first < R; first += room.logits_NV.shape[0]) {
    const std::int64_t rows = std::min(room.logits_NV.shape[0], R - first);
    const layers::Tensor logits_NV = layers::rows(room.logits_NV, 0, rows),
                         wide_NV = layers::rows(room.wide_NV, 0, rows);
    layers::TokenCrossEntropy::score(context, head(), layers::rows(rows_RW, first, rows),
                                     logits_NV);
    stage_.backend.run(stage_.stream, layers::Cast{logits_NV, wide_NV});
    stage_.backend.copy_out(stage_.stream, logits.data(), wide_NV.data, wide_NV.bytes());
    stage_.backend.synchronize(stage_.stream);
    for (std::int64_t r = 0; r < rows; ++r)
      found.push_back(layers::likeliest_classes(
          std::span(logits).subspan(static_cast<std::size_t>(r * V), static_cast<std::size_t>(V)),
          count, suppressed));
  }
  return found;
}

}  // namespace penstock::runtime
