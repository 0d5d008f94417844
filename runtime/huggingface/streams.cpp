#include "runtime/huggingface/streams.h"

#include <map>
#include <utility>

namespace penstock::runtime {
namespace {

/// Adds the rows of a head. To penstock, row `blank` becomes row 0 and the rows before it move back
/// by one; otherwise the reverse.
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

std::vector<StreamedTensor> our_tensors(const Pairing& pairing, const ModelTensors& ours,
                                        const StoredNames& stored, std::int64_t blank) {
  std::map<std::string, StreamedTensor> found;
  for (const TheirTensor& tensor : pairing.tensors) {  // parts of one tensor come in row order
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

}  // namespace penstock::runtime
