#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "layers/tensor/tensor.h"

namespace penstock::runtime {

/// The name of a value of an ONNX graph: an input, an initialiser, or the output of a node.
using ValueName = std::string;

/// Returns the bytes of numbers, as a constant has them.
template <class Number>
[[nodiscard]] std::vector<std::byte> copy_bytes(std::span<const Number> numbers) {
  const auto bytes = std::as_bytes(numbers);
  return {bytes.begin(), bytes.end()};
}

/// An attribute of a node: a name, and an integer, a real number, a text or a list of integers.
struct NodeAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>> value;
};

/// A constant of a graph. Its bytes are made when a file needs them, so that not all are in memory
/// at once. They are little-endian.
struct GraphConstant {
  ValueName name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::function<std::vector<std::byte>()> make;

  std::uint64_t bytes() const;
};

/// A tensor that enters or leaves a graph. An axis of any size has a name instead of a number.
struct GraphTensor {
  ValueName name;
  std::vector<std::variant<std::int64_t, std::string>> axes;  // of FP32 numbers
};

/// A graph of ONNX that is built node by node: GraphProto of onnx.proto. The operators are those of
/// opset 17, of the standard's own domain. Values are written once and have unique names.
class OnnxGraph {
 public:
  /// Begins a part of the graph. Its name is the beginning of the names of the values that follow.
  void begin(std::string_view part) { part_ = part; }

  /// Adds a node, and returns the name of its output. The first `outputs` outputs of more than one
  /// have the same name with a number behind it.
  [[nodiscard]] ValueName node(std::string_view op, const std::vector<ValueName>& inputs,
                               const std::vector<NodeAttribute>& attributes = {});
  [[nodiscard]] std::vector<ValueName> nodes(std::string_view op,
                                             const std::vector<ValueName>& inputs,
                                             const std::vector<NodeAttribute>& attributes,
                                             int outputs);

  /// Return small constants: a list of integers [n], or a single number without an axis.
  /// Equal constants are one.
  [[nodiscard]] ValueName integers(const std::vector<std::int64_t>& values);
  [[nodiscard]] ValueName integer(std::int64_t value);
  [[nodiscard]] ValueName real(float value);
  [[nodiscard]] ValueName wide_real(double value);  // FP64
  [[nodiscard]] ValueName byte(std::uint8_t value);

  /// Adds a constant whose name is that of a parameter.
  [[nodiscard]] ValueName constant(GraphConstant constant);
  /// Add a constant of the present part. `make` returns its numbers when they are written.
  [[nodiscard]] ValueName constant(std::string_view name, const layers::Shape& shape,
                                   std::vector<float> values);
  [[nodiscard]] ValueName constant(std::string_view name, const layers::Shape& shape,
                                   std::vector<double> values);
  [[nodiscard]] ValueName constant(std::string_view name, const layers::Shape& shape,
                                   std::function<std::vector<float>()> make);

  /// Declares an input, which nodes read by its name.
  void input(GraphTensor tensor) { inputs_.push_back(std::move(tensor)); }
  /// Makes a value an output by the name of `tensor`.
  void output(const ValueName& value, GraphTensor tensor);

  const std::vector<GraphConstant>& constants() const { return constants_; }

  /// Returns the bytes of the graph's message without its constants, which are fields of their own.
  std::string message_without_constants() const;

 private:
  void add_node(std::string_view message);
  ValueName unique(const std::string& name);
  std::string in_part(std::string_view name) const;
  ValueName small(const std::string& name, layers::DType dtype, const layers::Shape& shape,
                  std::vector<std::byte> bytes);

  std::string part_, nodes_;
  std::map<std::string, int, std::less<>> names_;
  std::vector<GraphConstant> constants_;
  std::map<std::string, ValueName, std::less<>> small_;
  std::vector<GraphTensor> inputs_, outputs_;
};

// Operators that the parts of a graph use again and again.

/// Returns x with other axes; one of them may be -1, and 0 stands for that of x.
[[nodiscard]] ValueName reshaped(OnnxGraph& graph, const ValueName& x,
                                 const std::vector<std::int64_t>& axes);
[[nodiscard]] ValueName transposed(OnnxGraph& graph, const ValueName& x,
                                   const std::vector<std::int64_t>& axes);
/// Returns x as FP32, FP64 or integers.
[[nodiscard]] ValueName cast(OnnxGraph& graph, const ValueName& x, layers::DType dtype);
/// Returns elements [from, to) along an axis.
[[nodiscard]] ValueName sliced(OnnxGraph& graph, const ValueName& x, std::int64_t axis,
                               const ValueName& from, const ValueName& to);
/// Returns the size of the first axis, as a list of one integer.
[[nodiscard]] ValueName row_count(OnnxGraph& graph, const ValueName& x);
/// Returns the integers [0, n), for a list of one integer n.
[[nodiscard]] ValueName count_up(OnnxGraph& graph, const ValueName& n);

}  // namespace penstock::runtime
