#pragma once

#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The rows of penstock's tensor that a tensor of transformers holds.
enum class Rows {
  all,
  queries,         // first third
  keys,            // second third
  values,          // last third
  shared_queries,  // first part, where decoder.heads share keys and values of decoder.kv_heads
  shared_keys,     // second part of these
  shared_values,   // last part of these
  memory_keys,     // first half: attention to the encoder's output
  memory_values,   // last half
  gates,           // first half
  gated,           // last half
  labels,          // all rows: row 0 is the blank's, the others follow in order
};

/// The order of the columns of a row.
enum class Columns {
  same,
  channel_first,  // theirs [channel][frequency], penstock's [frequency][channel]
  time_first,     // kernel: theirs [in][time][frequency], penstock's [in][frequency][time]
};

/// The shape of their tensor, relative to penstock's.
enum class Axes {
  same,
  one_second,     // [channels, kernel] becomes [channels, 1, kernel]
  one_last,       // [out, in] becomes [out, in, 1]
  ones_last,      // [out, in] becomes [out, in, 1, 1]
  heads_first,    // [channels] becomes [heads, channels of a head]
  without_first,  // [1, …] becomes […]
};

/// Maps a tensor of transformers to one of penstock. "{}" in a name stands for the number of a
/// layer, from 0 in their names and from 1 in ours.
struct TensorRule {
  std::string_view theirs, ours;
  Rows rows = Rows::all;
  Columns columns = Columns::same;  // applies to the weight only
  Axes axes = Axes::same;           // applies to the weight only
  bool alone = false;               // else ".weight" and, if ours has one, ".bias" are appended
  std::string_view formerly = {};   // earlier name of theirs, if `alone`
  /// For channel_first: a tensor of ours with one row per channel.
  std::string_view channels_of = {};
  bool not_always = false;  // some models have no such tensor
  bool may_lack = false;    // folders may lack it; then it starts as in a new model
};

/// A whole number that penstock does not compute with, but keeps for an export.
struct KeptRule {
  std::string_view theirs;
};

}  // namespace penstock::runtime
