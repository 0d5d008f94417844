#include "runtime/trainer/kept_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/quantities.h"

// A head has a row of weights, and an element of bias, for each label. If a run has other labels
// than the checkpoint from which it starts, a row may still be worth keeping: the label that it
// recognises may be among the run's, with another number. So rows are paired by equal labels (see
// Label), and all others keep their initial values.
//
// The pairing depends on the two vocabularies alone, and a kept row on its source alone. So every
// rank finds the same rows without a message, whatever part of the head it holds.

namespace penstock::runtime {
namespace {

constexpr std::ptrdiff_t kNamed = 5;  // labels in a list

std::vector<std::string> named(const std::vector<Label>& labels) {
  std::vector<std::string> names;
  const std::ptrdiff_t shown = std::min(kNamed, std::ssize(labels));
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const std::string& written = labels[static_cast<std::size_t>(i)].written;
    names.push_back(written.empty() ? "the blank" : fmt::format("'{}'", written));
  }
  if (shown < std::ssize(labels))
    names.push_back(counted(std::ssize(labels) - shown, "other", "others"));
  return names;
}

}  // namespace

std::int64_t KeptRows::kept() const { return rows() - std::ranges::count(sources, kAnew); }

KeptRows pair_rows(const std::vector<Label>& labels, std::int64_t rows,
                   const std::vector<Label>& before) {
  std::map<Label, std::int64_t> rows_before;
  for (std::int64_t row = 0; const Label& label : before) rows_before.emplace(label, row++);
  KeptRows kept;
  kept.sources.assign(static_cast<std::size_t>(rows), KeptRows::kAnew);
  for (std::size_t i = 0; i < std::min(labels.size(), kept.sources.size()); ++i)
    if (const auto found = rows_before.find(labels[i]); found != rows_before.end())
      kept.sources[i] = found->second;
  return kept;
}

std::string describe_rows(const KeptRows& kept, const std::vector<Label>& labels) {
  const std::int64_t anew = kept.rows() - kept.kept();
  if (anew == 0)
    return fmt::format("keeps its {}, whose labels the checkpoint has too",
                       counted(kept.rows(), "row"));
  std::vector<Label> missing;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (kept.sources[i] == KeptRows::kAnew) missing.push_back(labels[i]);
  std::vector<std::string> names = named(missing);
  if (const std::int64_t beyond = kept.rows() - std::ssize(labels); beyond > 0)
    names.push_back(fmt::format("{} beyond the labels", beyond));
  return fmt::format("keeps {} of {}, whose labels the checkpoint has too; {} anew: {}",
                     kept.kept(), counted(kept.rows(), "row"),
                     anew == 1 ? "1 starts" : fmt::format("{} start", anew),
                     fmt::join(names, ", "));
}

std::string list_labels(const std::vector<Label>& labels) {
  return fmt::format("{}", fmt::join(named(labels), ", "));
}

// A part may begin and end within a row, as the windows to a device's memory do.
void read_kept_rows(const KeptRows& kept, const RowsPart& part, const ReadElements& read) {
  const std::int64_t size = part.row_elements, last = part.first + std::ssize(part.values);
  for (std::int64_t row = part.first / size, next = row; row * size < last; row = next) {
    const std::int64_t source = kept.sources[static_cast<std::size_t>(row)];
    const auto goes_on = [&] {
      return source != KeptRows::kAnew && next * size < last &&
             kept.sources[static_cast<std::size_t>(next)] == source + (next - row);
    };
    for (++next; goes_on();) ++next;
    if (source == KeptRows::kAnew) continue;
    const std::int64_t begin = std::max(part.first, row * size), end = std::min(last, next * size);
    read(source * size + begin - row * size,
         part.values.subspan(static_cast<std::size_t>(begin - part.first),
                             static_cast<std::size_t>(end - begin)));
  }
}

}  // namespace penstock::runtime
