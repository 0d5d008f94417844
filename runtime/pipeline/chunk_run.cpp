#include "runtime/pipeline/chunk_run.h"

#include <fmt/format.h>

#include <thread>

#include "base/error.h"
#include "comm/communicator.h"
#include "partition/schedule/in_flight.h"
#include "runtime/pipeline/edge_tag.h"

namespace penstock::runtime {

// A ChunkRun performs the actions of one chunk. Sends and receives are only posted here; the action
// that needs a message waits for it. All memory comes from the chunk's rings. A ring has as many
// buffers as count_in_flight() finds in the schedule, each sized for the largest micro-batch of the
// step. A buffer is given back when its last reader is done: the end of backward, or the end of a
// send if that is later. Every wait makes the communicator progress and starts pending reloads, so
// other ranks are never blocked by this one's wait.

// The buffers of a micro-batch live as follows:
//
//   buffer           is taken by                       is free again after
//   input            receive_activation, or forward    backward; in an evaluation, forward
//   slot             forward; reload                   backward, and once its messages have left
//   host             offload                           the reload's copy
//   recomputed       forward; backward                 forward; backward, with the slot
//   output_gradient  receive_gradient, or the next     backward
//                    chunk of the same rank
//   input_gradient   backward, unless the slot has it  its send or copy
//
// Offload frees the slot early, when the copy to the host is done and the output has left.

ChunkRun::ChunkRun(const ActionContext& context, Chunk& chunk, int place, ChunkRun* before)
    : context_(context),
      chunk_(chunk),
      place_(place),
      before_(before),
      flights_(context.step.micro_batches.size()) {
  const bool training = context.mode == layers::Mode::train;
  partition::BufferBytes bytes;
  for (std::size_t m = 0; m < flights_.size(); ++m) {
    flights_[m].work = &context.step.micro_batches[m];
    flights_[m].layout = chunk.lay_out(*flights_[m].work, context.mode);
    if (context.callbacks.caches) flights_[m].cache = static_cast<int>(m);
    bytes.cover(flights_[m].layout, training ? chunk.role() : partition::ChunkRole{});
  }
  chunk.divide(bytes, partition::count_in_flight(context.schedule, place));
}

void ChunkRun::perform(const partition::Action& action) {
  const int m = action.micro_batch;
  Flight* flight = action.kind == partition::ActionKind::reduce ? nullptr : &flights_.at(m);
  comm::Communicator& pipeline = context_.pipeline;
  switch (action.kind) {
    case partition::ActionKind::receive_activation:
      flight->input = take(chunk_.inputs);
      flight->activation_in = pipeline.receive(message(place_ - 1, false, place_ - 1, m),
                                               chunk_.input_message(*flight));
      break;
    case partition::ActionKind::forward:
      forward(*flight, m);
      break;
    case partition::ActionKind::send_activation:
      flight->activation_out =
          pipeline.send(message(place_, false, place_ + 1, m), chunk_.output_message(*flight));
      flight->ended = context_.mode == layers::Mode::evaluate;
      prefetch_next(m);
      break;
    case partition::ActionKind::receive_gradient:
      flight->output_gradient = take(chunk_.output_gradients);
      flight->gradient_in = pipeline.receive(message(place_ + 1, true, place_ + 1, m),
                                             chunk_.output_gradient(*flight));
      break;
    case partition::ActionKind::backward:
    case partition::ActionKind::backward_input:
    case partition::ActionKind::backward_weight:
      backward(*flight, action);
      break;
    case partition::ActionKind::send_gradient:
      flight->gradient_out =
          pipeline.send(message(place_, true, place_ - 1, m), chunk_.input_gradient(*flight));
      flight->gradient_sent = true;
      break;
    case partition::ActionKind::offload:
      offload(*flight);
      break;
    case partition::ActionKind::reload:
      reloads_.push_back(m);
      break;
    case partition::ActionKind::reduce:
    case partition::ActionKind::step:
      break;  // reported per layer during backward
  }
}

/// Starts the copy to the host. reclaim_offloaded() gives the slot back once the copy is done and
/// the output is sent.
void ChunkRun::offload(Flight& flight) {
  flight.host = take(chunk_.host_slots.buffers);
  flight.offloaded = chunk_.offload(flight);
}

// Reloads start in the order of the list. If the first one finds no slot, later ones wait too,
// since their backwards come later.
void ChunkRun::start_reloads() {
  if (reloads_.empty()) return;
  reclaim();
  while (!reloads_.empty()) {
    Flight& flight = flights_[static_cast<std::size_t>(reloads_.front())];
    if (flight.slot >= 0) return;  // its old slot is not free yet
    flight.slot = chunk_.slots.take();
    if (flight.slot < 0) return;
    flight.reloaded = chunk_.reload(flight);
    reloads_.pop_front();
  }
}

/// Waits on the host until the reload has a slot, and on the device until its copy is done. Other
/// chunks may have to free memory first, so all of them are asked to reload.
void ChunkRun::await_reload(Flight& flight) {
  if (flight.host < 0) return;
  for (start_reloads(); flight.reloaded == nullptr; context_.reload()) {
    context_.pipeline.progress();
    std::this_thread::yield();
  }
  chunk_.await(*flight.reloaded);
}

/// There are three sources of input: a message of another rank, which receive_activation has
/// posted; features, for the first chunk; and the output of the preceding chunk on the same rank.
void ChunkRun::take_input(Flight& flight, int micro_batch) {
  if (!first() && before_ == nullptr) return wait_for(flight.activation_in, place_ - 1);
  flight.input = take(chunk_.inputs);
  if (first()) return chunk_.read(flight, features_of(micro_batch));
  Flight& from = before_->flights_.at(micro_batch);
  chunk_.copy(chunk_.input_message(flight), before_->chunk_.output_message(from));
  from.ended = context_.mode == layers::Mode::evaluate;
  before_->reclaim(from);
}

// The callback counts micro-batches of the replica, as StepWork does.
Chunk::Fill ChunkRun::features_of(int micro_batch) const {
  return [this, micro_batch](std::span<float> x_FC, std::span<float> weights) {
    context_.callbacks.read_features(micro_batch, x_FC, weights);
  };
}

/// Reads the features of the next micro-batch while the device computes this one's forward. It runs
/// after the send, so that the send is not delayed.
void ChunkRun::prefetch_next(int micro_batch) {
  const auto next = static_cast<std::size_t>(micro_batch) + 1;
  if (first() && next < flights_.size())
    chunk_.prefetch(*flights_[next].work, features_of(micro_batch + 1));
}

void ChunkRun::forward(Flight& flight, int micro_batch) {
  take_input(flight, micro_batch);
  flight.slot = take(chunk_.slots);
  take_recompute_buffer(flight);
  chunk_.forward(flight, context_.step, context_.mode, context_.sums);
  if (last()) prefetch_next(micro_batch);
  if (context_.mode == layers::Mode::train) return give_back_recompute_buffer(flight);

  // The logits are read before the input is given back: in a chunk that is the loss alone, they are
  // the input.
  if (last() && context_.callbacks.frames)
    context_.callbacks.frames(*flight.work, chunk_.logits(flight, false));
  if (last() && context_.callbacks.logits)
    context_.callbacks.logits(*flight.work, chunk_.logits(flight, context_.callbacks.text));
  chunk_.inputs.give_back(flight.input);
  flight.input = -1;
  flight.ended = last();
  reclaim(flight);
}

void ChunkRun::take_recompute_buffer(Flight& flight) {
  if (flight.layout.recomputed_bytes > 0) flight.recomputed = take(chunk_.recomputed);
}

void ChunkRun::backward(Flight& flight, const partition::Action& action) {
  if (action.kind != partition::ActionKind::backward_weight) start_backward(flight);
  if (action.kind == partition::ActionKind::backward_input) {
    chunk_.backward_input(flight, context_.step, context_.sums);
    return pass_back(flight, action.micro_batch);
  }
  const bool whole = action.micro_batch + 1 == static_cast<int>(flights_.size());
  const auto layer_done = [&](std::size_t layer) {
    if (whole && context_.callbacks.layer_complete) context_.callbacks.layer_complete(layer);
  };
  if (action.kind == partition::ActionKind::backward) {
    chunk_.backward(flight, context_.step, context_.sums, layer_done);
    pass_back(flight, action.micro_batch);
  } else {
    chunk_.backward_weight(flight, context_.step, layer_done);
  }
  end_backward(flight);
}

/// Copies the gradient of the input to the preceding chunk if this rank holds it.
void ChunkRun::pass_back(Flight& flight, int micro_batch) {
  if (before_ == nullptr) return;
  Flight& to = before_->flights_.at(micro_batch);
  to.output_gradient = before_->take(before_->chunk_.output_gradients);
  chunk_.copy(before_->chunk_.output_gradient(to), chunk_.input_gradient(flight));
  flight.gradient_sent = true;
  reclaim(flight);
}

/// Prepares the memory that backward reads and writes. The order matters: recomputation reads the
/// reloaded slot and runs while the gradient is still on its way.
void ChunkRun::start_backward(Flight& flight) {
  await_reload(flight);
  take_recompute_buffer(flight);
  if (flight.layout.recomputes_output()) {        // receive_gradient proceeds meanwhile
    wait_for(flight.activation_out, place_ + 1);  // recomputation overwrites the sent output
    chunk_.recompute_output(flight, context_.step, context_.sums);
  }
  if (!last()) wait_for(flight.gradient_in, place_ + 1);
  if (!first() && !flight.layout.sends_what_it_keeps())
    flight.input_gradient = take(chunk_.input_gradients);
}

/// Gives back what backward was the last to read. The slot may stay until its messages have left.
void ChunkRun::end_backward(Flight& flight) {
  if (!last()) chunk_.output_gradients.give_back(flight.output_gradient);
  chunk_.inputs.give_back(flight.input);
  flight.input = flight.output_gradient = -1;
  flight.ended = true;
  if (chunk_.host_slots.buffers.bytes() > 0) chunk_.release_slot(flight);
  reclaim(flight);
}

/// Gives buffers back to their rings once nothing reads them and their sends are done.
void ChunkRun::reclaim(Flight& flight) {
  for (auto* transfer : {&flight.activation_out, &flight.gradient_out})
    if (*transfer != nullptr && (*transfer)->done()) transfer->reset();
  const bool gradient_left = flight.gradient_sent && flight.gradient_out == nullptr;
  if (gradient_left && flight.input_gradient >= 0) {
    chunk_.input_gradients.give_back(flight.input_gradient);
    flight.input_gradient = -1;
  }
  reclaim_offloaded(flight);
  const bool leaving =
      flight.activation_out != nullptr || (flight.layout.sends_what_it_keeps() && !gradient_left);
  if (flight.slot < 0 || !flight.ended || leaving) return;
  chunk_.slots.give_back(flight.slot);
  flight.slot = -1;
  give_back_recompute_buffer(flight);
}

/// Gives the slot back once it is on the host, and the host's buffer once it is back on the device.
void ChunkRun::reclaim_offloaded(Flight& flight) {
  if (flight.offloaded != nullptr && flight.activation_out == nullptr &&
      flight.offloaded->query()) {
    chunk_.slots.give_back(flight.slot);
    flight.slot = -1;
    flight.offloaded.reset();
  }
  if (flight.host >= 0 && flight.reloaded != nullptr && flight.reloaded->query()) {
    chunk_.host_slots.buffers.give_back(flight.host);
    flight.host = -1;
  }
}

void ChunkRun::give_back_recompute_buffer(Flight& flight) {
  if (flight.recomputed >= 0) chunk_.recomputed.give_back(flight.recomputed);
  flight.recomputed = -1;
}

void ChunkRun::reclaim() {
  for (Flight& flight : flights_) reclaim(flight);
}

// Takes a buffer. If none is free, waits until a send or an offload completes and releases one. The
// wait ends without another action of this rank: the ring has as many buffers as the schedule has
// in flight at most, so only a message or copy of an earlier action can still hold one.
int ChunkRun::take(BufferRing& ring) {
  reclaim();
  int buffer = ring.take();
  while (buffer < 0) {
    context_.pipeline.progress();
    std::this_thread::yield();
    reclaim();
    buffer = ring.take();
    if (buffer < 0) context_.reload();
  }
  return buffer;
}

void ChunkRun::wait_for(std::unique_ptr<comm::Transfer>& transfer, int peer_chunk) {
  if (transfer == nullptr) return;
  const bool waits = !transfer->done();
  const auto tell = [&](Moment moment) {
    if (waits && context_.callbacks.wait)
      context_.callbacks.wait(context_.schedule.chunk_rank[peer_chunk], moment);
  };
  tell(Moment::begins);
  for (comm::Backoff backoff; !transfer->done(); backoff.pause()) {
    context_.pipeline.progress();
    context_.reload();
  }
  tell(Moment::ends);
  transfer.reset();
}

// Losses may still be computed by the device. Stage::complete() waits for that, too.
void ChunkRun::leave() {
  StepSums& sums = context_.sums;
  for (Flight& flight : flights_) {
    for (auto* transfer : {&flight.gradient_out, &flight.activation_out})
      if (*transfer != nullptr) sums.leaving.push_back(std::move(*transfer));
    sums.auxiliary_losses.push_back(std::move(flight.auxiliary_losses));
    if (last()) sums.utterance_losses.at(flight.work->place) = std::move(flight.losses);
  }
}

comm::Message ChunkRun::message(int producer, bool gradient, int peer_chunk,
                                int micro_batch) const {
  const partition::Schedule& schedule = context_.schedule;
  return {schedule.chunk_rank.at(peer_chunk), edge_tag(producer, gradient),
          fmt::format("{} of micro-batch {} from chunk {}", gradient ? "gradient" : "activation",
                      micro_batch, producer)};
}

}  // namespace penstock::runtime
