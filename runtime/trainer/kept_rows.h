#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/label.h"

namespace penstock::runtime {

/// The rows of a head that a run keeps of a checkpoint with other labels.
struct KeptRows {
  static constexpr std::int64_t kAnew = -1;

  /// For each row of the head, the checkpoint's row of the same label, or kAnew.
  std::vector<std::int64_t> sources = {};
  std::set<std::string> parameters = {};  // of the head, each with these rows

  bool empty() const { return sources.empty(); }  // no head is kept by rows
  std::int64_t rows() const { return std::ssize(sources); }
  std::int64_t kept() const;
};

/// Pairs each of the `rows` rows of a head with the row of an equal label among `before`. Label i
/// has row i. Rows beyond `labels` start anew. If labels of `before` are equal, the first counts.
/// The caller adds the names of the parameters.
[[nodiscard]] KeptRows pair_rows(const std::vector<Label>& labels, std::int64_t rows,
                                 const std::vector<Label>& before);

/// Describes rows() and those that start anew: "keeps 4 of 6 rows, whose labels the checkpoint has
/// too; 2 start anew: 'e', 'f'". `labels` are those of pair_rows().
[[nodiscard]] std::string describe_rows(const KeptRows& kept, const std::vector<Label>& labels);

/// Lists the first few labels: "the blank, 'a', '▁the', 27 others".
[[nodiscard]] std::string list_labels(const std::vector<Label>& labels);

/// Reads elements of the checkpoint's parameter from `begin` on.
using ReadElements = std::function<void(std::int64_t begin, std::span<float> out)>;

/// A part of a parameter whose first axis is the rows.
struct RowsPart {
  std::int64_t row_elements = 1;  // elements of a row
  std::int64_t first = 0;         // element with which the part begins, within a row or not
  std::span<float> values;
};

/// Reads the kept rows of a part and leaves the others alone. `read` is called for these elements
/// alone, once for neighbouring rows that are neighbours in the checkpoint too.
void read_kept_rows(const KeptRows& kept, const RowsPart& part, const ReadElements& read);

}  // namespace penstock::runtime
