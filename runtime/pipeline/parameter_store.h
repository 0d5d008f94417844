#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"
#include "partition/memory/stage_bytes.h"
#include "partition/model/parameter_layout.h"
#include "runtime/pipeline/arena_table.h"
#include "runtime/pipeline/shared_arena.h"

namespace penstock::runtime {

struct StateEntry {
  layers::StateDecl decl;
  std::size_t layer = 0;
};

struct StoreOptions {
  int lanes = 1;                     // of this replica: one gradient arena each
  partition::SlotCounts slots = {};  // of the optimizer
  partition::ParameterKinds kinds = {};
  int replica = 0;  // this one, where replicas share the update
};

/// The numbers of a stage: parameters, gradient sums, optimizer slots and untrained state, as
/// lay_out_parameters() has them. Where layers compute in halves, they read copies of the
/// parameters, which round_copies() renews. Parameters start from (seed, name) alone.
class ParameterStore {
 public:
  /// `plans` are of the stage's layers, with the norm blocks of the model before each of them; none
  /// where they are the model's first.
  ParameterStore(layers::Backend& backend, layers::Stream& stream,
                 const std::vector<layers::LayerPlan>& plans,
                 std::span<const std::int64_t> first_blocks, const StoreOptions& options,
                 std::uint64_t seed);

  const std::vector<partition::ParameterEntry>& parameters() const { return layout_.parameters; }
  /// What this rank updates, in the order of parameters(): norms and optimizer go over these.
  const std::vector<partition::ParameterPiece>& owned() const { return layout_.owned; }
  const std::vector<StateEntry>& states() const { return states_; }
  layers::DType dtype() const { return options_.kinds.dtype; }
  int lanes() const { return options_.lanes; }
  std::int64_t element_count() const;

  /// Whether other replicas update the pieces that this rank does not own.
  bool shared() const { return options_.kinds.sharing.replicas > 1; }
  const partition::ParameterLayout& layout() const { return layout_; }
  /// What layers read, whole once every replica has given the others what it owns of it.
  SharedArena shared_arena() const;

  layers::Params params(std::size_t layer) const;
  layers::Grads grads(std::size_t layer, int lane) const;

  /// The whole master; ShapeError where this rank has only pieces of it.
  layers::Tensor weight(const partition::ParameterEntry& entry) const;
  /// No data where the whole layer is frozen.
  layers::Tensor gradient(const partition::ParameterEntry& entry, int lane) const {
    return entry.summed ? view(gradients_[lane], entry) : layers::Tensor{};
  }
  /// What layers read instead of the master; no data where they read that.
  layers::Tensor copy(const partition::ParameterEntry& entry) const;
  /// Of a piece that this rank owns, flat.
  layers::Tensor weight(const partition::ParameterPiece& piece) const;
  layers::Tensor gradient(const partition::ParameterPiece& piece, int lane) const;
  layers::Tensor copy(const partition::ParameterPiece& piece) const;
  layers::Tensor slot(const partition::ParameterPiece& piece, int slot) const;
  /// Of the slot's code blocks; no data where the slot is not kept in codes.
  layers::Tensor scales(const partition::ParameterPiece& piece, int slot) const;

  /// Whole arenas, in whose elements the table counts; no data where there is none. Masters that
  /// lie among the copies are counted from where the others begin, too.
  layers::Tensor weight_arena() const { return flat(weights_, dtype()); }
  layers::Tensor gradient_arena() const { return flat(gradients_[0], dtype()); }  // lane 0's
  layers::Tensor slot_arena(int slot) const {
    return flat(slots_[slot], options_.kinds.slot_type());
  }
  layers::Tensor scale_arena(int slot) const;  // of slots that are kept in codes
  layers::Tensor copy_arena() const {
    return copies_.bytes() == 0 ? layers::Tensor{} : flat(copies_, options_.kinds.compute);
  }
  int slots_of_elements() const { return options_.slots.of_elements; }
  /// Where owned() lies in them.
  const ArenaTable& table() const { return table_; }

  /// The slot-th of the slots of single FP64 numbers, in the order of parameters(); waits for the
  /// stream. All replicas have all of them.
  std::vector<double> read_numbers(layers::Stream& stream, int slot) const;
  void write_numbers(layers::Stream& stream, int slot, std::span<const double> numbers);
  /// One of these numbers, shaped {1}.
  layers::Tensor number(const partition::ParameterEntry& entry, int slot) const;
  /// By the index in states().
  const layers::Tensor& state(std::size_t index) const { return state_tensors_[index]; }

  std::span<std::byte> gradient_arena(int lane) const {
    return {gradients_[lane].data(), gradients_[lane].bytes()};
  }
  /// All that an update changes: masters, copies and slots, as far as this rank has them.
  std::vector<std::span<std::byte>> updated_arenas() const;
  /// Where the gradients of this layer and those behind it begin in their arena, in bytes.
  std::size_t arena_offset(std::size_t layer) const;
  void zero_gradients(layers::Stream& stream);

  /// The copies that layers read of what this rank owns: call it whenever masters have changed.
  void round_copies(layers::Stream& stream);
  /// Where new values of a whole parameter are put: its master, or lane 0's gradient sum where this
  /// rank has only pieces of that. loaded() makes masters and copies of all of them.
  layers::Tensor loading(const partition::ParameterEntry& entry) const;
  void loaded(layers::Stream& stream);

 private:
  struct LayerViews {
    std::vector<layers::Tensor> weights, state;
    std::vector<std::vector<layers::Tensor>> gradients;  // by lane
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
  layers::Tensor read_by_layers(const partition::ParameterEntry& entry) const;
  void place(const std::vector<layers::LayerPlan>& plans);
  void initialise(layers::Stream& stream, std::uint64_t seed);

  layers::Backend& backend_;
  StoreOptions options_;
  partition::ParameterLayout layout_;
  std::vector<StateEntry> states_;
  std::vector<layers::Tensor> state_tensors_;
  layers::Buffer weights_, copies_, state_memory_;
  std::vector<layers::Buffer> gradients_, slots_, scales_;
  std::vector<LayerViews> layers_;
  ArenaTable table_;
};

}  // namespace penstock::runtime
