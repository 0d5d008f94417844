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

namespace penstock {

struct StateEntry {
  StateDecl decl;
  std::size_t layer = 0;
};

struct StoreOptions {
  int lanes = 1;          // of this replica: one gradient arena each
  SlotCounts slots = {};  // of the optimizer
  ParameterKinds kinds = {};
  int replica = 0;  // this one, where replicas share the update
};

/// The numbers of a stage: parameters, gradient sums, optimizer slots and untrained state, as
/// lay_out_parameters() has them. Where layers compute in halves, they read copies of the
/// parameters, which round_copies() renews. Parameters start from (seed, name) alone.
class ParameterStore {
 public:
  /// `plans` are of the stage's layers, with the norm blocks of the model before each of them; none
  /// where they are the model's first.
  ParameterStore(Backend& backend, Stream& stream, const std::vector<LayerPlan>& plans,
                 std::span<const std::int64_t> first_blocks, const StoreOptions& options,
                 std::uint64_t seed);

  const std::vector<ParameterEntry>& parameters() const { return layout_.parameters; }
  /// What this rank updates, in the order of parameters(): norms and optimizer go over these.
  const std::vector<ParameterPiece>& owned() const { return layout_.owned; }
  const std::vector<StateEntry>& states() const { return states_; }
  DType dtype() const { return options_.kinds.dtype; }
  int lanes() const { return options_.lanes; }
  std::int64_t element_count() const;

  /// Whether other replicas update the pieces that this rank does not own.
  bool shared() const { return options_.kinds.sharing.replicas > 1; }
  const ParameterLayout& layout() const { return layout_; }
  /// What layers read, whole once every replica has given the others what it owns of it.
  SharedArena shared_arena() const;

  Params params(std::size_t layer) const;
  Grads grads(std::size_t layer, int lane) const;

  /// The whole master; ShapeError where this rank has only pieces of it.
  Tensor weight(const ParameterEntry& entry) const;
  Tensor gradient(const ParameterEntry& entry, int lane) const {
    return view(gradients_[lane], entry);
  }
  /// What layers read instead of the master; no data where they read that.
  Tensor copy(const ParameterEntry& entry) const;
  /// Of a piece that this rank owns, flat.
  Tensor weight(const ParameterPiece& piece) const;
  Tensor gradient(const ParameterPiece& piece, int lane) const;
  Tensor copy(const ParameterPiece& piece) const;
  Tensor slot(const ParameterPiece& piece, int slot) const;

  /// Whole arenas, in whose elements the table counts; no data where there is none. Masters that
  /// lie among the copies are counted from where the others begin, too.
  Tensor weight_arena() const { return flat(weights_, dtype()); }
  Tensor gradient_arena() const { return flat(gradients_[0], dtype()); }  // lane 0's
  Tensor slot_arena(int slot) const { return flat(slots_[slot], dtype()); }
  Tensor copy_arena() const {
    return copies_.bytes() == 0 ? Tensor{} : flat(copies_, options_.kinds.compute);
  }
  int slots_of_elements() const { return options_.slots.of_elements; }
  /// Where owned() lies in them.
  const ArenaTable& table() const { return table_; }

  /// The slot-th of the slots of single FP64 numbers, in the order of parameters(); waits for the
  /// stream. All replicas have all of them.
  std::vector<double> read_numbers(Stream& stream, int slot) const;
  void write_numbers(Stream& stream, int slot, std::span<const double> numbers);
  /// One of these numbers, shaped {1}.
  Tensor number(const ParameterEntry& entry, int slot) const;
  /// By the index in states().
  const Tensor& state(std::size_t index) const { return state_tensors_[index]; }

  std::span<std::byte> gradient_arena(int lane) const {
    return {gradients_[lane].data(), gradients_[lane].bytes()};
  }
  /// All that an update changes: masters, copies and slots, as far as this rank has them.
  std::vector<std::span<std::byte>> updated_arenas() const;
  /// Where the parameters of this layer and those behind it begin in an arena, in bytes.
  std::size_t arena_offset(std::size_t layer) const;
  void zero_gradients(Stream& stream);

  /// The copies that layers read of what this rank owns: call it whenever masters have changed.
  void round_copies(Stream& stream);
  /// Where new values of a whole parameter are put: its master, or lane 0's gradient sum where this
  /// rank has only pieces of that. loaded() makes masters and copies of all of them.
  Tensor loading(const ParameterEntry& entry) const;
  void loaded(Stream& stream);

 private:
  struct LayerViews {
    std::vector<Tensor> weights, state;
    std::vector<std::vector<Tensor>> gradients;  // by lane
  };
  const ParameterEntry& entry(const ParameterPiece& piece) const {
    return layout_.parameters[piece.parameter];
  }
  static Tensor flat(const Buffer& arena, DType dtype) {
    return {arena.data(), dtype, {static_cast<std::int64_t>(arena.bytes() / size_of(dtype))}};
  }
  Tensor view(const Buffer& arena, const ParameterEntry& entry) const;
  bool has_copy(const ParameterEntry& entry) const;
  Tensor read_by_layers(const ParameterEntry& entry) const;
  void place(const std::vector<LayerPlan>& plans);
  void initialise(Stream& stream, std::uint64_t seed);

  Backend& backend_;
  StoreOptions options_;
  ParameterLayout layout_;
  std::vector<StateEntry> states_;
  std::vector<Tensor> state_tensors_;
  Buffer weights_, copies_, state_memory_;
  std::vector<Buffer> gradients_, slots_;
  std::vector<LayerViews> layers_;
  ArenaTable table_;
};

}  // namespace penstock
