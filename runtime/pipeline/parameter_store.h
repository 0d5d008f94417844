#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"
#include "partition/layout/parameter_layout.h"
#include "partition/layout/stage_bytes.h"
#include "runtime/pipeline/arenas.h"

namespace penstock::runtime {

struct StateEntry {
  layers::StateDecl decl;
  std::size_t layer = 0;
};

struct StoreOptions {
  int lanes = 1;                     // lanes of this replica; one gradient arena each
  partition::SlotCounts slots = {};  // slots of the optimizer, and moving averages
  partition::ParameterKinds kinds = {};
  int replica = 0;  // this replica's number, if replicas share the update
};

/// Holds the memory of a stage: parameters, gradient sums, optimizer slots and untrained state, as
/// lay_out_parameters() arranges them. Layers that compute in half precision read rounded copies of
/// the parameters, which round_copies() renews. Initial values depend on (seed, name) alone.
class ParameterStore {
 public:
  /// `plans` are those of the stage's layers. `first_blocks` has the number of the model's norm
  /// blocks before each of them. It is empty if these are the model's first layers.
  ParameterStore(layers::Backend& backend, layers::Stream& stream,
                 const std::vector<layers::LayerPlan>& plans,
                 std::span<const std::int64_t> first_blocks, const StoreOptions& options,
                 std::uint64_t seed);

  const std::vector<partition::ParameterEntry>& parameters() const { return layout_.parameters; }
  /// Pieces that this rank updates, in the order of parameters(). Norms and the optimizer iterate
  /// over these.
  const std::vector<partition::ParameterPiece>& owned() const { return layout_.owned; }
  const std::vector<StateEntry>& states() const { return states_; }
  layers::DType dtype() const { return options_.kinds.dtype; }
  int lanes() const { return options_.lanes; }
  /// Returns the elements of its parameters, without tied ones.
  std::int64_t element_count() const;

  /// True if other replicas update the pieces that this rank does not own.
  bool shared() const { return options_.kinds.sharing.replicas > 1; }
  const partition::ParameterLayout& layout() const { return layout_; }
  /// Returns the arena that layers read. It is complete once every replica has sent the part that
  /// it owns to the others.
  SharedArena shared_arena() const;

  layers::Params params(std::size_t layer) const;
  layers::Grads grads(std::size_t layer, int lane) const;

  /// Returns the whole master, or the copy that layers read if a frozen or tied parameter has
  /// nothing else.
  /// ShapeError if this rank has only pieces of the master.
  layers::Tensor weight(const partition::ParameterEntry& entry) const;
  /// Returns what layers read: the copy, or the master.
  layers::Tensor read_by_layers(const partition::ParameterEntry& entry) const;
  /// Returns a gradient sum without data if the whole part of the layer is frozen.
  layers::Tensor gradient(const partition::ParameterEntry& entry, int lane) const {
    return entry.summed ? view(gradients_[lane], entry) : layers::Tensor{};
  }
  /// Returns the rounded copy that layers read instead of the master. It has no data if they read
  /// the master.
  layers::Tensor copy(const partition::ParameterEntry& entry) const;
  /// Flat views of a piece that this rank owns.
  layers::Tensor weight(const partition::ParameterPiece& piece) const;
  layers::Tensor gradient(const partition::ParameterPiece& piece, int lane) const;
  layers::Tensor copy(const partition::ParameterPiece& piece) const;
  layers::Tensor slot(const partition::ParameterPiece& piece, int slot) const;
  /// Returns the scales of a slot's code blocks. They have no data unless the slot has the format
  /// SlotFormat::codes.
  layers::Tensor scales(const partition::ParameterPiece& piece, int slot) const;
  /// Returns the moving averages of a piece's weights. They have no data if none are kept.
  layers::Tensor average(const partition::ParameterPiece& piece) const;

  /// Whole arenas as flat tensors, in which the offsets of table() count. They have no data if
  /// there is no such arena. Masters that lie in the arena of copies are also counted from the
  /// beginning of weight_arena().
  layers::Tensor weight_arena() const { return flat(weights_, dtype()); }
  layers::Tensor gradient_arena() const { return flat(gradients_[0], dtype()); }  // lane 0's arena
  layers::Tensor slot_arena(int slot) const {
    return flat(slots_[slot], options_.kinds.slot_type());
  }
  layers::Tensor scale_arena(int slot) const;  // scales of a slot in codes
  layers::Tensor average_arena() const {
    return averages_.bytes() == 0 ? layers::Tensor{} : flat(averages_, dtype());
  }
  layers::Tensor copy_arena() const {
    return copies_.bytes() == 0 ? layers::Tensor{} : flat(copies_, options_.kinds.compute);
  }
  int slots_of_elements() const { return options_.slots.of_elements; }
  /// The positions of owned() in these arenas.
  const ArenaTable& table() const { return table_; }

  /// Reads or writes one of the slots that keep a single FP64 number per parameter, in the order of
  /// parameters(). Waits for the stream. All replicas hold all of these numbers.
  std::vector<double> read_numbers(layers::Stream& stream, int slot) const;
  void write_numbers(layers::Stream& stream, int slot, std::span<const double> numbers);
  /// Returns one of these numbers, with shape {1}.
  layers::Tensor number(const partition::ParameterEntry& entry, int slot) const;
  /// Returns a state tensor by its index in states().
  const layers::Tensor& state(std::size_t index) const { return state_tensors_[index]; }

  std::span<std::byte> gradient_arena(int lane) const {
    return {gradients_[lane].data(), gradients_[lane].bytes()};
  }
  /// Returns the memory that an update changes: masters, copies, slots, scales and averages that
  /// this rank holds.
  std::vector<std::span<std::byte>> updated_arenas() const;
  /// Returns the offset, in bytes, at which the gradients of this and all later layers begin in
  /// their arena.
  std::size_t arena_offset(std::size_t layer) const;
  void zero_gradients(layers::Stream& stream);

  /// Renews the copies of the parameters that this rank owns. It must be called whenever masters
  /// have changed.
  void round_copies(layers::Stream& stream);
  /// Returns the tensor into which new values of a whole parameter are written. It is the master
  /// or, if this rank has only pieces of that, lane 0's gradient sum. When all parameters are
  /// written, loaded() derives masters and copies from them, and moving averages begin with them.
  layers::Tensor loading(const partition::ParameterEntry& entry) const;
  void loaded(layers::Stream& stream);
  /// Exchanges the weights that this rank owns with their moving averages. A second call restores
  /// both. Lane 0's gradient sums are overwritten. The caller must then send what layers read to
  /// the replicas that share the update.
  void exchange_averages(layers::Stream& stream);

 private:
  struct LayerViews {
    std::vector<layers::Tensor> weights, state;
    std::vector<std::vector<layers::Tensor>> gradients;  // gradients by lane
  };
  const partition::ParameterEntry& entry(const partition::ParameterPiece& piece) const {
    return layout_.parameters[piece.parameter];
  }
  static layers::Tensor flat(const layers::Buffer& arena, layers::DType dtype) {
    return {
        arena.data(), dtype, {static_cast<std::int64_t>(arena.bytes() / layers::size_of(dtype))}};
  }
  layers::Tensor view(const layers::Buffer& arena, const partition::ParameterEntry& entry) const;
  bool has_copy(const partition::ParameterEntry& entry) const;
  void place(const std::vector<layers::LayerPlan>& plans);
  void initialise(layers::Stream& stream, std::uint64_t seed);

  layers::Backend& backend_;
  StoreOptions options_;
  partition::ParameterLayout layout_;
  std::vector<StateEntry> states_;
  std::vector<layers::Tensor> state_tensors_;
  layers::Buffer weights_, copies_, averages_, state_memory_;
  std::vector<layers::Buffer> gradients_, slots_, scales_;
  std::vector<LayerViews> layers_;
  ArenaTable table_;
};

/// A second copy of the memory that an update changes, so that the update can be rolled back.
class RollbackBuffer {
 public:
  /// Both arguments must outlive it.
  RollbackBuffer(layers::Backend& backend, const ParameterStore& store);

  /// Copies the store's memory into the buffer, in the stream's order.
  void take(layers::Stream& stream);
  /// Copies the buffer back into the store.
  void restore(layers::Stream& stream);

 private:
  layers::Backend& backend_;
  std::vector<std::span<std::byte>> arenas_;  // arenas of the store
  std::vector<layers::Buffer> copies_;
};

}  // namespace penstock::runtime
