#pragma once

#include <cstdint>
#include <stdexcept>

#include "layers/tensor/dtype.h"

// The numbers of ONNX's messages, from onnx.proto
// (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).

namespace penstock::runtime {

inline constexpr std::uint64_t kOnnxIrVersion = 8;  // that came with opset 17
inline constexpr std::uint64_t kOnnxOpset = 17;

namespace field {
// ModelProto, OperatorSetIdProto
inline constexpr int model_ir_version = 1, producer_name = 2, model_graph = 7, model_opset = 8,
                     model_metadata = 14, opset_version = 2;
// StringStringEntryProto
inline constexpr int entry_key = 1, entry_value = 2;
// GraphProto
inline constexpr int graph_node = 1, graph_name = 2, graph_constant = 5, graph_input = 11,
                     graph_output = 12;
// NodeProto
inline constexpr int node_input = 1, node_output = 2, node_name = 3, node_operator = 4,
                     node_attribute = 5;
// AttributeProto
inline constexpr int attribute_name = 1, attribute_real = 2, attribute_integer = 3,
                     attribute_text = 4, attribute_integers = 8, attribute_type = 20;
// TensorProto
inline constexpr int tensor_axis = 1, tensor_data_type = 2, tensor_name = 8, tensor_bytes = 9,
                     tensor_external = 13, tensor_place = 14;
// ValueInfoProto, TypeProto, TypeProto.Tensor, TensorShapeProto, TensorShapeProto.Dimension
inline constexpr int value_name = 1, value_type = 2, tensor_type = 1, element_type = 1,
                     tensor_shape = 2, shape_dimension = 1, dimension_size = 1, dimension_name = 2;
}  // namespace field

// AttributeProto.AttributeType
inline constexpr std::uint64_t kRealAttribute = 1, kIntegerAttribute = 2, kTextAttribute = 3,
                               kIntegersAttribute = 7;

inline constexpr std::uint64_t kExternal = 1;  // TensorProto.DataLocation.EXTERNAL

/// Returns the constant of TensorProto.DataType. std::invalid_argument for a type that no graph
/// of penstock has.
inline std::uint64_t onnx_type(layers::DType dtype) {
  switch (dtype) {
    case layers::DType::f32:
      return 1;
    case layers::DType::u8:
      return 2;
    case layers::DType::i64:
      return 7;
    case layers::DType::f64:
      return 11;
    default:
      throw std::invalid_argument("a tensor type that graphs do not have");
  }
}

}  // namespace penstock::runtime
