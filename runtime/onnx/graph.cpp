#include "runtime/onnx/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/proto_writer.h"
#include "runtime/onnx/onnx_fields.h"

// Nodes are written to their message as soon as they are added, since nothing changes them later.
// A node may only read values that exist already, so the order in which nodes are added is the
// topological order that ONNX asks for. Constants stay a list: their bytes are not there yet.

namespace penstock::runtime {
namespace {

/// Returns AttributeProto.
std::string attribute_message(const NodeAttribute& attribute) {
  ProtoWriter message;
  message.text(field::attribute_name, attribute.name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    message.number(field::attribute_integer, static_cast<std::uint64_t>(*integer));
    message.number(field::attribute_type, kIntegerAttribute);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    message.real(field::attribute_real, *real);
    message.number(field::attribute_type, kRealAttribute);
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.text(field::attribute_text, *text);
    message.number(field::attribute_type, kTextAttribute);
  } else {
    for (const std::int64_t number : std::get<std::vector<std::int64_t>>(attribute.value))
      message.number(field::attribute_integers, static_cast<std::uint64_t>(number));
    message.number(field::attribute_type, kIntegersAttribute);
  }
  return message.done();
}

/// Returns ValueInfoProto of a tensor of FP32.
std::string value_message(const GraphTensor& tensor) {
  ProtoWriter shape, tensor_type, type, value;
  for (const auto& axis : tensor.axes) {
    ProtoWriter dimension;
    if (const auto* size = std::get_if<std::int64_t>(&axis))
      dimension.number(field::dimension_size, static_cast<std::uint64_t>(*size));
    else
      dimension.text(field::dimension_name, std::get<std::string>(axis));
    shape.text(field::shape_dimension, dimension.done());
  }
  tensor_type.number(field::element_type, onnx_type(layers::DType::f32));
  tensor_type.text(field::tensor_shape, shape.done());
  type.text(field::tensor_type, tensor_type.done());
  value.text(field::value_name, tensor.name);
  value.text(field::value_type, type.done());
  return value.done();
}

}  // namespace

std::uint64_t GraphConstant::bytes() const {
  return static_cast<std::uint64_t>(layers::element_count(shape)) * layers::size_of(dtype);
}

ValueName OnnxGraph::unique(const std::string& name) {
  const int before = names_[name]++;
  return before == 0 ? name : unique(fmt::format("{}_{}", name, before));
}

std::string OnnxGraph::in_part(std::string_view name) const {
  return part_.empty() ? std::string(name) : fmt::format("{}/{}", part_, name);
}

void OnnxGraph::add_node(std::string_view message) {
  ProtoWriter node;
  node.text(field::graph_node, message);
  nodes_ += node.done();
}

std::vector<ValueName> OnnxGraph::nodes(std::string_view op, const std::vector<ValueName>& inputs,
                                        const std::vector<NodeAttribute>& attributes, int outputs) {
  const ValueName name = unique(in_part(op));
  std::vector<ValueName> results;
  ProtoWriter message;
  for (const ValueName& value : inputs) message.text(field::node_input, value);
  for (int i = 0; i < outputs; ++i) {
    results.push_back(outputs == 1 ? name : fmt::format("{}.{}", name, i));
    message.text(field::node_output, results.back());
  }
  message.text(field::node_name, name);
  message.text(field::node_operator, op);
  for (const NodeAttribute& attribute : attributes)
    message.text(field::node_attribute, attribute_message(attribute));
  add_node(message.done());
  return results;
}

ValueName OnnxGraph::node(std::string_view op, const std::vector<ValueName>& inputs,
                          const std::vector<NodeAttribute>& attributes) {
  return nodes(op, inputs, attributes, 1).front();
}

ValueName OnnxGraph::small(const std::string& name, layers::DType dtype, const layers::Shape& shape,
                           std::vector<std::byte> bytes) {
  const auto [found, is_new] = small_.try_emplace(name, name);
  if (is_new)
    constants_.push_back({name, dtype, shape, [bytes = std::move(bytes)] { return bytes; }});
  return found->second;
}

ValueName OnnxGraph::integers(const std::vector<std::int64_t>& values) {
  return small(fmt::format("[{}]", fmt::join(values, ",")), layers::DType::i64,
               {static_cast<std::int64_t>(values.size())}, copy_bytes<std::int64_t>(values));
}

ValueName OnnxGraph::integer(std::int64_t value) {
  return small(fmt::format("integer:{}", value), layers::DType::i64, {},
               copy_bytes(std::span<const std::int64_t>(&value, 1)));
}

ValueName OnnxGraph::real(float value) {
  return small(fmt::format("f32:{}", value), layers::DType::f32, {},
               copy_bytes(std::span<const float>(&value, 1)));
}

ValueName OnnxGraph::wide_real(double value) {
  return small(fmt::format("f64:{}", value), layers::DType::f64, {},
               copy_bytes(std::span<const double>(&value, 1)));
}

ValueName OnnxGraph::byte(std::uint8_t value) {
  return small(fmt::format("u8:{}", value), layers::DType::u8, {}, {std::byte{value}});
}

ValueName OnnxGraph::constant(GraphConstant constant) {
  constant.name = unique(constant.name);
  return constants_.emplace_back(std::move(constant)).name;
}

ValueName OnnxGraph::constant(std::string_view name, const layers::Shape& shape,
                              std::vector<float> values) {
  return constant({in_part(name), layers::DType::f32, shape,
                   [values = std::move(values)] { return copy_bytes<float>(values); }});
}

ValueName OnnxGraph::constant(std::string_view name, const layers::Shape& shape,
                              std::vector<double> values) {
  return constant({in_part(name), layers::DType::f64, shape,
                   [values = std::move(values)] { return copy_bytes<double>(values); }});
}

ValueName OnnxGraph::constant(std::string_view name, const layers::Shape& shape,
                              std::function<std::vector<float>()> make) {
  return constant({in_part(name), layers::DType::f32, shape,
                   [make = std::move(make)] { return copy_bytes<float>(make()); }});
}

void OnnxGraph::output(const ValueName& value, GraphTensor tensor) {
  part_.clear();
  ProtoWriter message;
  message.text(field::node_input, value);
  message.text(field::node_output, tensor.name);
  message.text(field::node_name, tensor.name);
  message.text(field::node_operator, "Identity");
  add_node(message.done());
  outputs_.push_back(std::move(tensor));
}

std::string OnnxGraph::message_without_constants() const {
  ProtoWriter message;
  message.text(field::graph_name, "penstock");
  for (const GraphTensor& tensor : inputs_) message.text(field::graph_input, value_message(tensor));
  for (const GraphTensor& tensor : outputs_)
    message.text(field::graph_output, value_message(tensor));
  return message.done() + nodes_;
}

ValueName reshaped(OnnxGraph& graph, const ValueName& x, const std::vector<std::int64_t>& axes) {
  return graph.node("Reshape", {x, graph.integers(axes)});
}

ValueName transposed(OnnxGraph& graph, const ValueName& x, const std::vector<std::int64_t>& axes) {
  return graph.node("Transpose", {x}, {{"perm", axes}});
}

ValueName cast(OnnxGraph& graph, const ValueName& x, layers::DType dtype) {
  return graph.node("Cast", {x}, {{"to", static_cast<std::int64_t>(onnx_type(dtype))}});
}

ValueName sliced(OnnxGraph& graph, const ValueName& x, std::int64_t axis, const ValueName& from,
                 const ValueName& to) {
  return graph.node("Slice", {x, from, to, graph.integers({axis})});
}

ValueName row_count(OnnxGraph& graph, const ValueName& x) {
  return graph.node("Shape", {x}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
}

ValueName count_up(OnnxGraph& graph, const ValueName& n) {
  const ValueName end = graph.node("Squeeze", {n, graph.integers({0})});
  return graph.node("Range", {graph.integer(0), end, graph.integer(1)});
}

}  // namespace penstock::runtime
