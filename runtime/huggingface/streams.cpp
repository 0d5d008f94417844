#include "runtime/huggingface/streams.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kNamed = 20;  // names listed of each kind; the others are counted

bool computed(std::string_view dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

/// Matches the tensors of a pairing with those of a folder. Tensors of the folder that are never
/// found remain in `besides_`. All differences are listed together, because they are usually one:
/// the config.json of another model.
class Accounts {
 public:
  Accounts(const WeightsFolder& weights, const OtherNames& others)
      : weights_(weights), others_(others) {
    for (const auto& [name, place] : weights.places())
      if (std::ranges::none_of(others.left_out,
                               [&](std::string_view begin) { return name.starts_with(begin); }))
        besides_.insert(name);
  }

  /// Finds a tensor by its current name or, if the folder lacks that, by its former name.
  bool find(const std::string& name, const std::string& former) {
    for (const std::string& known : {in_folder(name), in_folder(former)}) {
      if (known.empty() || !weights_.places().contains(known)) continue;
      stored_.emplace(name, known);
      besides_.erase(known);
      return true;
    }
    return false;
  }

  void require(const TheirTensor& tensor) {
    if (!find(tensor.name, tensor.former)) {
      if (!tensor.may_lack) lacking_.push_back(tensor.name);
      return;
    }
    const SafetensorsEntry& entry = weights_.places().at(stored_.at(tensor.name)).entry;
    if (!same_shape(entry, tensor.shape))
      misshapen_.push_back(fmt::format("{} is [{}], expected [{}]", entry.name,
                                       fmt::join(entry.shape, ", "),
                                       fmt::join(tensor.shape, ", ")));
    if (!computed(entry.dtype))
      misshapen_.push_back(
          fmt::format("{} is of {}, expected F32, F16 or BF16", entry.name, entry.dtype));
  }

  void allow_number(const std::string& kept) {
    if (!find(kept, "")) return;
    const SafetensorsEntry& entry = weights_.places().at(stored_.at(kept)).entry;
    if (!entry.shape.empty() || entry.dtype != "I64")
      misshapen_.push_back(fmt::format("{} is {}[{}], expected I64[]", entry.name, entry.dtype,
                                       fmt::join(entry.shape, ", ")));
  }

  /// Returns one line per problem, and if there is one, a line per setting that was assumed.
  std::vector<std::string> faults(const std::vector<std::string>& assumed) const {
    std::vector<std::string> lines;
    list(lines, "it lacks", lacking_);
    list(lines, "it has, and no such model has,",
         std::vector<std::string>(besides_.begin(), besides_.end()));
    list(lines, "of another shape or type:", misshapen_);
    if (!lines.empty()) list(lines, "config.json lacks", assumed);
    return lines;
  }

  StoredNames take() { return std::move(stored_); }

 private:
  std::string in_folder(const std::string& name) const {
    if (!name.starts_with(others_.prefix)) return name;
    return fmt::format("{}{}", others_.stored_prefix, name.substr(others_.prefix.size()));
  }

  static bool same_shape(const SafetensorsEntry& entry, const layers::Shape& shape) {
    return std::ranges::equal(entry.shape, shape, [](std::uint64_t a, std::int64_t b) {
      return a == static_cast<std::uint64_t>(b);
    });
  }

  static void list(std::vector<std::string>& lines, std::string_view what,
                   const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i)
      lines.push_back(fmt::format("{} {}", what, names[i]));
    if (names.size() > kNamed)
      lines.push_back(fmt::format("{} {} more", what, names.size() - kNamed));
  }

  const WeightsFolder& weights_;
  const OtherNames& others_;
  std::set<std::string> besides_;
  StoredNames stored_;
  std::vector<std::string> lacking_, misshapen_;
};

/// Adds the rows of a head. To penstock, row `blank` becomes row 0 and the rows before it move back
/// by one; otherwise the reverse. For example, a head of theirs with 4 rows and the blank last, and
/// the first row and the count of each run:
///
///   theirs    a  b  c  blank      runs to penstock   {3, 1}, {0, 3}
///   penstock  blank  a  b  c      runs back          {1, 3}, {0, 1}
void add_head_runs(std::vector<RowRun>& runs, const std::string& source, std::int64_t rows,
                   std::int64_t blank, bool to_ours) {
  if (to_ours) {
    runs.push_back({source, blank, 1});
    if (blank > 0) runs.push_back({source, 0, blank});
  } else {
    if (blank > 0) runs.push_back({source, 1, blank});
    runs.push_back({source, 0, 1});
  }
  if (blank + 1 < rows) runs.push_back({source, blank + 1, rows - blank - 1});
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> back(order.size());
  for (std::size_t j = 0; j < order.size(); ++j)
    back[static_cast<std::size_t>(order[j])] = static_cast<std::int64_t>(j);
  return back;
}

std::int64_t columns_of_rows(const layers::Shape& shape, std::int64_t rows) {
  return rows == 0 ? 1 : layers::element_count(shape) / rows;
}

}  // namespace

StoredNames account(const Pairing& pairing, const WeightsFolder& weights,
                    const std::filesystem::path& folder, const OtherNames& others,
                    const std::vector<std::string>& assumed) {
  Accounts accounts(weights, others);
  for (const TheirTensor& tensor : pairing.tensors) accounts.require(tensor);
  for (const std::string& kept : pairing.kept) accounts.allow_number(kept);
  const std::vector<std::string> faults = accounts.faults(assumed);
  if (!faults.empty())
    throw_fault(folder,
                fmt::format("its tensors are not those of the model that {} describes:\n  {}",
                            "config.json", fmt::join(faults, "\n  ")));
  return accounts.take();
}

std::vector<StreamedTensor> our_tensors(const Pairing& pairing, const ModelTensors& ours,
                                        const StoredNames& stored, std::int64_t blank) {
  std::map<std::string, StreamedTensor> found;
  for (const TheirTensor& tensor : pairing.tensors) {  // parts of one tensor come in row order
    if (tensor.may_lack && !stored.contains(tensor.name)) continue;
    StreamedTensor& stream = found[tensor.ours];
    stream.name = tensor.ours;
    stream.shape = ours.find(tensor.ours)->second;
    stream.columns = columns_of_rows(stream.shape, stream.shape.front());
    stream.order = inverse(tensor.columns);
    const std::string& source = stored.at(tensor.name);
    if (tensor.by_label) {
      add_head_runs(stream.runs, source, tensor.rows, blank, true);
    } else {
      stream.runs.push_back({source, 0, tensor.rows});
    }
  }
  std::vector<StreamedTensor> streams;
  for (auto& [name, stream] : found) streams.push_back(std::move(stream));
  return streams;
}

std::vector<StreamedTensor> their_tensors(const Pairing& pairing, std::int64_t blank,
                                          layers::DType dtype) {
  std::vector<StreamedTensor> streams;
  for (const TheirTensor& tensor : pairing.tensors) {
    StreamedTensor& stream = streams.emplace_back();
    stream.name = tensor.name;
    stream.dtype = dtype;
    stream.shape = tensor.shape;
    stream.columns = columns_of_rows(tensor.shape, tensor.rows);
    stream.order = tensor.columns;
    if (tensor.by_label) {
      add_head_runs(stream.runs, tensor.ours, tensor.rows, blank, false);
    } else {
      stream.runs.push_back({tensor.ours, tensor.first_row, tensor.rows});
    }
  }
  return streams;
}

StreamedTensor kept_number(const std::string& kept, const std::string& stored,
                           const WeightsFolder& weights) {
  return {.name = kKeptTensors + kept, .dtype = layers::DType::i64, .ready = weights.bytes(stored)};
}

ReadElements weights_reader(const Checkpoint& checkpoint, bool averages) {
  return
      [&checkpoint, averages](const std::string& source, std::int64_t begin, std::span<float> out) {
        read_floats(checkpoint, averages ? model_tensor(checkpoint, source) : source, begin, out);
      };
}

}  // namespace penstock::runtime
