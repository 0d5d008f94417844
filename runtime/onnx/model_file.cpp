#include "runtime/onnx/model_file.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "base/atomic_file.h"
#include "base/proto_writer.h"
#include "runtime/onnx/onnx_fields.h"

// A message precedes its length in Protocol Buffers, so a model of one message would have to be in
// memory as a whole. But the sizes of all constants are known, and so is the length of the graph:
// its beginning is written, and the bytes of the constants follow one after the other.
//
// A reader takes no message of 2 GiB or more. Then the model has its constants in a second file,
// where each begins at a multiple of a page, so that a reader can map it. Small constants stay in
// the model: a reader wants to know the axes of a reshape before it opens a second file.

namespace penstock::runtime {
namespace {

constexpr std::uint64_t kSmallBytes = 1024;
constexpr std::uint64_t kPage = 4096;

/// Returns TensorProto up to its bytes: the message but for what follows in the same or in another
/// file.
ProtoWriter tensor_message(const GraphConstant& constant) {
  ProtoWriter message;
  for (const std::int64_t size : constant.shape)
    message.number(field::tensor_axis, static_cast<std::uint64_t>(size));
  message.number(field::tensor_data_type, onnx_type(constant.dtype));
  message.text(field::tensor_name, constant.name);
  return message;
}

std::string entry_message(const std::string& key, const std::string& value) {
  ProtoWriter entry;
  entry.text(field::entry_key, key);
  entry.text(field::entry_value, value);
  return entry.done();
}

/// Returns the whole TensorProto of a constant in a second file.
std::string external_message(const GraphConstant& constant, const std::string& file,
                             std::uint64_t begin) {
  ProtoWriter message = tensor_message(constant);
  message.text(field::tensor_external, entry_message("location", file));
  message.text(field::tensor_external, entry_message("offset", fmt::format("{}", begin)));
  message.text(field::tensor_external,
               entry_message("length", fmt::format("{}", constant.bytes())));
  message.number(field::tensor_place, kExternal);
  return message.done();
}

/// Returns ModelProto up to its graph.
std::string model_message(const ModelFileOptions& options) {
  ProtoWriter opset, model;
  opset.number(field::opset_version, kOnnxOpset);
  model.number(field::model_ir_version, kOnnxIrVersion);
  model.text(field::model_opset, opset.done());
  model.text(field::producer_name, "penstock");
  for (const auto& [key, value] : options.metadata)
    model.text(field::model_metadata, entry_message(key, value));
  return model.done();
}

/// A constant's field of the graph, up to the bytes that follow.
struct ConstantField {
  std::string message;
  const GraphConstant* bytes = nullptr;  // null: none follow
  std::uint64_t size() const { return message.size() + (bytes == nullptr ? 0 : bytes->bytes()); }
};

/// Returns a constant's bytes. A message names their number before they are made, so another
/// number would be a file that nothing reads.
std::vector<std::byte> make_bytes(const GraphConstant& constant) {
  std::vector<std::byte> bytes = constant.make();
  if (bytes.size() != constant.bytes())
    throw std::logic_error(fmt::format("the constant {} has {} bytes, and its shape has {}",
                                       constant.name, bytes.size(), constant.bytes()));
  return bytes;
}

ConstantField field_with_bytes(const GraphConstant& constant) {
  ProtoWriter inner = tensor_message(constant), outer;
  inner.begin(field::tensor_bytes, constant.bytes());
  outer.begin(field::graph_constant, inner.done().size() + constant.bytes());
  return {outer.done() + inner.done(), &constant};
}

std::vector<ConstantField> fields_with_bytes(const OnnxGraph& graph) {
  std::vector<ConstantField> fields;
  for (const GraphConstant& constant : graph.constants())
    fields.push_back(field_with_bytes(constant));
  return fields;
}

/// Writes the large constants to a second file, and returns the fields of all.
std::vector<ConstantField> write_second_file(const std::filesystem::path& file,
                                             const OnnxGraph& graph) {
  AtomicFile data(file);
  std::vector<ConstantField> fields;
  std::uint64_t end = 0;
  for (const GraphConstant& constant : graph.constants()) {
    if (constant.bytes() < kSmallBytes) {
      fields.push_back(field_with_bytes(constant));
      continue;
    }
    const std::uint64_t begin = (end + kPage - 1) / kPage * kPage;
    data.write(std::string(begin - end, '\0'));
    data.write(make_bytes(constant));
    end = begin + constant.bytes();
    ProtoWriter field;
    field.text(field::graph_constant, external_message(constant, file.filename().string(), begin));
    fields.push_back({field.done()});
  }
  data.commit();
  return fields;
}

std::uint64_t bytes_of_fields(const std::vector<ConstantField>& fields) {
  std::uint64_t sum = 0;
  for (const ConstantField& one : fields) sum += one.size();
  return sum;
}

}  // namespace

int write_model_file(const std::filesystem::path& file, const OnnxGraph& graph,
                     const ModelFileOptions& options) {
  const std::string begin = model_message(options), nodes = graph.message_without_constants();
  std::vector<ConstantField> fields = fields_with_bytes(graph);
  const bool two = begin.size() + nodes.size() + bytes_of_fields(fields) > options.max_bytes;
  if (two) fields = write_second_file(file.string() + ".data", graph);
  ProtoWriter length;
  length.begin(field::model_graph, nodes.size() + bytes_of_fields(fields));
  AtomicFile model(file);
  model.write(begin);
  model.write(length.done());
  model.write(nodes);
  for (const ConstantField& one : fields) {
    model.write(one.message);
    if (one.bytes != nullptr) model.write(make_bytes(*one.bytes));
  }
  model.commit();
  return two ? 2 : 1;
}

}  // namespace penstock::runtime
