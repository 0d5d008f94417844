#pragma once

#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Which rows of penstock's tensor are those of a tensor of transformers.
enum class Rows {
  all,
  queries,  // the first third
  keys,     // the second
  values,   // the last
  labels,   // all of them: row 0 is the blank's, the others follow in their order
};

/// In which order the columns of a row are.
enum class Columns {
  same,
  channel_first,  // theirs are [channel][frequency], penstock's [frequency][channel]
  time_first,     // a kernel: theirs are [in][time][frequency], penstock's [in][frequency][time]
};

/// Which shape theirs has.
enum class Axes {
  same,
  one_second,   // [channels, kernel] is [channels, 1, kernel]
  one_last,     // [out, in] is [out, in, 1]
  ones_last,    // [out, in] is [out, in, 1, 1]
  heads_first,  // [channels] is [heads, channels of a head]
};

/// What a tensor of transformers is in penstock. A name's "{}" stands for the number of a layer,
/// from 0 in theirs and from 1 in ours.
struct TensorRule {
  std::string_view theirs, ours;
  Rows rows = Rows::all;
  Columns columns = Columns::same;    // of the weight
  Axes axes = Axes::same;             // of the weight
  bool alone = false;                 // else ".weight" and, where ours has one, ".bias" follow both
  std::string_view formerly = {};     // what theirs was called earlier; of one that is alone
  std::string_view channels_of = {};  // of channel_first: a tensor of ours with a row for each
  bool not_always = false;            // some models have no such tensor
};

/// A setting above 0, without which a model has no such tensor.
struct KeptWith {
  std::string_view setting, absent;
};

/// A tensor that penstock computes nothing with, and gives back.
struct KeptRule {
  std::string_view theirs;
  std::string_view like = {};       // a tensor of ours of its shape, in FP32; empty: a whole number
  std::vector<KeptWith> with = {};  // one of these; empty: always
};

}  // namespace penstock::runtime
