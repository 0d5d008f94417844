#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/backend.h"
#include "layers/layer.h"
#include "layers/ops/optimizer.h"
#include "partition/stage_bytes.h"

namespace penstock {

/// Blocks of a parameter of that many elements: norms do not depend on how the model is cut.
constexpr std::int64_t norm_blocks(std::int64_t elements) {
  return (elements + kNormBlock - 1) / kNormBlock;
}

/// One parameter's place in the arenas of its stage.
struct ParameterEntry {
  ParamDecl decl;
  std::size_t layer = 0;   // within the stage
  std::size_t offset = 0;  // in bytes, the same in every arena
  std::int64_t elements = 0;
  std::int64_t first_block = 0;  // of the model's norm blocks
  std::size_t copy_offset = 0;   // in bytes, of its copy in the compute type, if it has one
  std::int64_t index = 0;        // among the stage's parameters
};

/// Elements [first, first + count) of a parameter: whole norm blocks of it.
struct ParameterPiece {
  std::size_t parameter = 0;  // its index among the stage's
  std::int64_t first = 0, count = 0;
  std::int64_t first_block = 0;  // of the model's norm blocks

  std::int64_t blocks() const { return norm_blocks(count); }
};

struct StateEntry {
  StateDecl decl;
  std::size_t layer = 0;
};

struct StoreOptions {
  int lanes = 1;               // of this replica: one gradient arena each
  SlotCounts slots = {};       // of the optimizer
  DType dtype = DType::f32;    // of masters, gradient sums and slots
  DType compute = DType::f32;  // of what layers read: halves are rounded copies of the masters
};

/// The numbers of a stage: parameters, gradient sums, optimizer slots (arenas of the same layout)
/// and untrained state. Where layers compute in halves, they read copies of the parameters, which
/// round_copies() renews. Parameters start from (seed, name) alone.
class ParameterStore {
 public:
  /// `plans` are of the stage's layers; `first_block` counts the norm blocks of the layers before.
  ParameterStore(Backend& backend, Stream& stream, const std::vector<LayerPlan>& plans,
                 std::int64_t first_block, const StoreOptions& options, std::uint64_t seed);

  const std::vector<ParameterEntry>& parameters() const { return parameters_; }
  /// What this rank updates, in the order of parameters(): norms and optimizer go over these.
  const std::vector<ParameterPiece>& owned() const { return owned_; }
  const std::vector<StateEntry>& states() const { return states_; }
  DType dtype() const { return options_.dtype; }
  int lanes() const { return options_.lanes; }
  int slots() const { return static_cast<int>(slots_.size()); }
  std::int64_t element_count() const;

  Params params(std::size_t layer) const;
  Grads grads(std::size_t layer, int lane) const;

  /// The same parameter in each arena.
  Tensor weight(const ParameterEntry& entry) const { return view(weights_, entry); }
  Tensor gradient(const ParameterEntry& entry, int lane) const {
    return view(gradients_[lane], entry);
  }
  /// What layers read instead of `weight`; no data where they read that.
  Tensor copy(const ParameterEntry& entry) const;
  /// Slots of elements come first; then a slot is one FP64 number, shaped {1}.
  Tensor slot(const ParameterEntry& entry, int slot) const;
  /// The same of a piece that this rank updates, flat.
  Tensor weight(const ParameterPiece& piece) const { return cut(weight(entry(piece)), piece); }
  Tensor gradient(const ParameterPiece& piece, int lane) const {
    return cut(gradient(entry(piece), lane), piece);
  }
  Tensor copy(const ParameterPiece& piece) const { return cut(copy(entry(piece)), piece); }
  Tensor slot(const ParameterPiece& piece, int slot) const {
    return cut(this->slot(entry(piece), slot), piece);
  }
  /// The slot-th of the slots of single numbers, in the order of parameters(); waits for the
  /// stream.
  std::vector<double> read_numbers(Stream& stream, int slot) const;
  void write_numbers(Stream& stream, int slot, std::span<const double> numbers);
  /// By the index in states().
  const Tensor& state(std::size_t index) const { return state_tensors_[index]; }

  std::span<std::byte> gradient_arena(int lane) const {
    return {gradients_[lane].data(), gradients_[lane].bytes()};
  }
  /// Where the parameters of this layer and those behind it begin in an arena, in bytes.
  std::size_t arena_offset(std::size_t layer) const;
  void zero_gradients(Stream& stream);
  /// The copies that layers read, from the masters: call it whenever masters have changed.
  void round_copies(Stream& stream);

 private:
  struct LayerViews {
    std::vector<Tensor> weights, state;
    std::vector<std::vector<Tensor>> gradients;  // by lane
  };
  const ParameterEntry& entry(const ParameterPiece& piece) const {
    return parameters_[piece.parameter];
  }
  static Tensor cut(const Tensor& whole, const ParameterPiece& piece);
  Tensor view(const Buffer& arena, const ParameterEntry& entry) const;
  Tensor read_by_layers(const ParameterEntry& entry) const;
  void place(const std::vector<LayerPlan>& plans, std::int64_t first_block);
  void initialise(Stream& stream, std::uint64_t seed);

  Backend& backend_;
  StoreOptions options_;
  std::vector<ParameterEntry> parameters_;
  std::vector<ParameterPiece> owned_;
  std::vector<StateEntry> states_;
  std::vector<Tensor> state_tensors_;
  Buffer weights_, copies_, state_memory_;
  std::vector<Buffer> gradients_, slots_;
  std::vector<LayerViews> layers_;
};

}  // namespace penstock
