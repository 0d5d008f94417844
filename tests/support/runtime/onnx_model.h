#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layers/tensor/tensor.h"

namespace penstock::test {

struct OnnxNode {
  std::string name, op;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::vector<std::int64_t>> integers;  // attributes with integers
  std::map<std::string, std::string> texts;
};

struct OnnxTensor {
  std::int64_t type = 0;  // TensorProto.DataType
  layers::Shape shape;
  std::string bytes;  // empty: they lie in another file
  std::map<std::string, std::string> external = {};

  std::vector<float> floats() const;
};

/// A model of ONNX as its file has it.
struct OnnxModel {
  std::int64_t ir_version = 0, opset = 0;
  std::map<std::string, std::string> metadata;
  std::vector<OnnxNode> nodes;
  std::map<std::string, OnnxTensor> constants;
  /// Inputs and outputs, with their axes as text: "1", "samples".
  std::map<std::string, std::vector<std::string>> inputs, outputs;

  std::vector<std::string> operators() const;
  /// Returns the constant of that name, and fails the test if there is none.
  const OnnxTensor& constant(const std::string& name) const;
  /// Returns what is wrong with the order of nodes: values that no earlier node, constant or input
  /// gives, names that occur twice, or outputs that nothing gives.
  std::vector<std::string> faults() const;
};

/// Reads a model. std::runtime_error unless each byte belongs to a field.
OnnxModel read_onnx(const std::filesystem::path& file);

/// Returns the message of a graph as if it were the whole model's, without constants.
OnnxModel read_graph(std::string_view message);

}  // namespace penstock::test
