#include "tests/support/runtime/onnx_model.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>

namespace penstock::test {
namespace {

/// A field of a message: a number, or bytes.
struct Field {
  int number = 0;
  std::uint64_t value = 0;
  std::string_view bytes = {};
};

std::uint64_t read_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest.empty()) throw std::runtime_error("a message ends within a number");
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  throw std::runtime_error("a number has more than 64 bits");
}

std::string_view take(std::string_view& rest, std::uint64_t count) {
  if (count > rest.size()) throw std::runtime_error("a field is longer than its message");
  const std::string_view taken = rest.substr(0, count);
  rest.remove_prefix(count);
  return taken;
}

void for_fields(std::string_view message, const std::function<void(const Field&)>& use) {
  while (!message.empty()) {
    const std::uint64_t tag = read_varint(message);
    Field field{.number = static_cast<int>(tag >> 3)};
    switch (tag & 7) {
      case 0:
        field.value = read_varint(message);
        break;
      case 2:
        field.bytes = take(message, read_varint(message));
        break;
      case 5:
        field.bytes = take(message, 4);
        break;
      default:
        throw std::runtime_error("a field has a type that ONNX does not have");
    }
    use(field);
  }
}

std::pair<std::string, std::string> read_entry(std::string_view message) {
  std::pair<std::string, std::string> entry;
  for_fields(message, [&](const Field& f) {
    if (f.number == 1) entry.first = f.bytes;
    if (f.number == 2) entry.second = f.bytes;
  });
  return entry;
}

OnnxNode read_node(std::string_view message) {
  OnnxNode node;
  for_fields(message, [&](const Field& f) {
    if (f.number == 1) node.inputs.emplace_back(f.bytes);
    if (f.number == 2) node.outputs.emplace_back(f.bytes);
    if (f.number == 3) node.name = f.bytes;
    if (f.number == 4) node.op = f.bytes;
    if (f.number != 5) return;
    std::string name, text;
    std::vector<std::int64_t> integers;
    for_fields(f.bytes, [&](const Field& a) {
      if (a.number == 1) name = a.bytes;
      if (a.number == 3 || a.number == 8) integers.push_back(static_cast<std::int64_t>(a.value));
      if (a.number == 4) text = a.bytes;
    });
    if (!integers.empty()) node.integers[name] = integers;
    if (!text.empty()) node.texts[name] = text;
  });
  return node;
}

std::pair<std::string, OnnxTensor> read_tensor(std::string_view message) {
  std::pair<std::string, OnnxTensor> tensor;
  for_fields(message, [&](const Field& f) {
    if (f.number == 1) tensor.second.shape.push_back(static_cast<std::int64_t>(f.value));
    if (f.number == 2) tensor.second.type = static_cast<std::int64_t>(f.value);
    if (f.number == 8) tensor.first = f.bytes;
    if (f.number == 9) tensor.second.bytes = f.bytes;
    if (f.number == 13) tensor.second.external.insert(read_entry(f.bytes));
  });
  return tensor;
}

std::pair<std::string, std::vector<std::string>> read_value(std::string_view message) {
  std::pair<std::string, std::vector<std::string>> value;
  for_fields(message, [&](const Field& f) {
    if (f.number == 1) value.first = f.bytes;
    if (f.number != 2) return;
    for_fields(f.bytes, [&](const Field& type) {
      for_fields(type.bytes, [&](const Field& tensor) {
        if (tensor.number != 2) return;
        for_fields(tensor.bytes, [&](const Field& axis) {
          for_fields(axis.bytes, [&](const Field& size) {
            value.second.push_back(size.number == 1 ? std::to_string(size.value)
                                                    : std::string(size.bytes));
          });
        });
      });
    });
  });
  return value;
}

void read_graph_into(OnnxModel& model, std::string_view message) {
  for_fields(message, [&](const Field& f) {
    if (f.number == 1) model.nodes.push_back(read_node(f.bytes));
    if (f.number == 5) model.constants.insert(read_tensor(f.bytes));
    if (f.number == 11) model.inputs.insert(read_value(f.bytes));
    if (f.number == 12) model.outputs.insert(read_value(f.bytes));
  });
}

}  // namespace

std::vector<float> OnnxTensor::floats() const {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

std::vector<std::string> OnnxModel::operators() const {
  std::vector<std::string> all;
  for (const OnnxNode& node : nodes) all.push_back(node.op);
  return all;
}

const OnnxTensor& OnnxModel::constant(const std::string& name) const {
  const auto found = constants.find(name);
  if (found == constants.end()) throw std::runtime_error("the model has no constant " + name);
  return found->second;
}

std::vector<std::string> OnnxModel::faults() const {
  std::set<std::string> known;
  std::vector<std::string> found;
  for (const auto& [name, axes] : inputs) known.insert(name);
  for (const auto& [name, tensor] : constants) known.insert(name);
  for (const OnnxNode& node : nodes) {
    for (const std::string& value : node.inputs)
      if (!known.contains(value)) found.push_back(node.name + " reads " + value);
    for (const std::string& value : node.outputs)
      if (!known.insert(value).second) found.push_back(value + " is there twice");
  }
  for (const auto& [name, axes] : outputs)
    if (!known.contains(name)) found.push_back("nothing makes " + name);
  return found;
}

OnnxModel read_onnx(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  const std::string bytes = text.str();
  OnnxModel model;
  for_fields(bytes, [&](const Field& f) {
    if (f.number == 1) model.ir_version = static_cast<std::int64_t>(f.value);
    if (f.number == 7) read_graph_into(model, f.bytes);
    if (f.number == 8)
      for_fields(f.bytes,
                 [&](const Field& o) { model.opset = static_cast<std::int64_t>(o.value); });
    if (f.number == 14) model.metadata.insert(read_entry(f.bytes));
  });
  return model;
}

OnnxModel read_graph(std::string_view message) {
  OnnxModel model;
  read_graph_into(model, message);
  return model;
}

}  // namespace penstock::test
