#include "runtime/checkpoint/safetensors/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/safetensors/safetensors_dtype.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDepthLimit = 128;  // nesting of values under unknown keys, as in serde_json
constexpr std::string_view kMetadata = "__metadata__";

[[noreturn]] void throw_malformed(const std::string& reason) {
  throw CheckpointError(fmt::format("invalid safetensors header: {}", reason));
}

// A header comes from a file of unknown origin, and its numbers become addresses in a mapped file.
// So the reader accepts the format and nothing else. It works in two passes. HeaderReader takes the
// JSON text event by event, and knows by `place_` within which object it is:
//
//   outside  {  root  "__metadata__": {  metadata: texts only  }
//                     "name": {          tensor: dtype, shape, data_offsets  }  }
//
// Values under other keys of a tensor are ignored, as long as they nest no deeper than kDepthLimit.
// Then parse_safetensors_header() sorts the tensors by position and checks that they follow one
// another without holes from the first byte of data to the last.

// Reads the header as a stream of JSON events. A parsed document would hide duplicate keys and the
// notation of numbers.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;

  bool start_object(std::size_t) override {
    if (ignored_ > 0) return enter_ignored();
    if (place_ == Place::outside) return enter(Place::root);
    if (place_ == Place::root) return enter(key_ == kMetadata ? Place::metadata : Place::tensor);
    return start_other();
  }
  // Objects nest at most two deep besides ignored ones, so the place around an object is known
  // without a stack.
  bool end_object() override {
    if (ignored_ > 0) return --ignored_, true;
    if (place_ == Place::tensor) finish_tensor();
    place_ = place_ == Place::root ? Place::outside : Place::root;
    return true;
  }
  bool start_array(std::size_t) override {
    if (ignored_ > 0) return enter_ignored();
    const bool expected = key_ == "shape" || key_ == "data_offsets";
    if (place_ == Place::tensor && expected && !numbers_) {
      numbers_.emplace();
      return true;
    }
    return start_other();
  }
  bool end_array() override {
    if (ignored_ > 0) return --ignored_, true;
    auto list = std::exchange(numbers_, std::nullopt);
    if (key_ == "shape")
      shape_ = std::move(list);
    else
      offsets_ = std::move(list);
    return true;
  }
  bool key(std::string& text) override {
    if (ignored_ > 0) return true;
    key_ = text;
    const bool is_new =
        place_ == Place::root ? names_.insert(text).second : inner_keys_.insert(text).second;
    if (!is_new) throw_malformed(fmt::format("the key '{}' occurs twice{}", text, within()));
    if (place_ == Place::root) {
      if (text.find('\0') != std::string::npos) throw_malformed("a tensor's name contains NUL");
      tensor_ = text;
    }
    return true;
  }
  bool string(std::string& text) override {
    if (place_ == Place::metadata && ignored_ == 0) {
      header.metadata[key_] = text;
      return true;
    }
    if (place_ == Place::tensor && ignored_ == 0 && key_ == "dtype") {
      if (!safetensors_bits(text))
        throw_malformed(fmt::format("unknown dtype '{}'{}", text, within()));
      dtype_ = text;
      return true;
    }
    return other("a string");
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (numbers_) return numbers_->push_back(value), true;
    return other("a number");
  }
  // nlohmann-json calls these for signs, points, exponents and numbers beyond 64 bits.
  bool number_integer(number_integer_t) override { return other("a signed number"); }
  bool number_float(number_float_t, const std::string& text) override {
    return other(fmt::format("the number {}", text));
  }
  bool null() override {
    if (place_ == Place::root && key_ == kMetadata) return true;  // null counts as absent
    return other("null");
  }
  bool boolean(bool) override { return other("a boolean"); }
  bool binary(Json::binary_t&) override { return other("binary data"); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    throw_malformed(error.what());
  }

 private:
  enum class Place { outside, root, metadata, tensor };

  std::string within() const {
    return place_ == Place::root ? "" : fmt::format(" in '{}'", tensor_);
  }

  bool enter(Place place) {
    place_ = place;
    inner_keys_.clear();
    return true;
  }
  bool enter_ignored() {
    if (++ignored_ > kDepthLimit) throw_malformed(fmt::format("nested too deeply{}", within()));
    return true;
  }
  // Handles an object or array that is not expected. It is allowed only under unknown keys of a
  // tensor.
  bool start_other() {
    other("an object or array");
    return enter_ignored();
  }
  bool other(const std::string& found) {
    const bool known = key_ == "dtype" || key_ == "shape" || key_ == "data_offsets";
    if (ignored_ > 0 || (place_ == Place::tensor && !known)) return true;
    const std::string of_key = place_ == Place::outside ? "" : fmt::format(" for '{}'", key_);
    throw_malformed(fmt::format("unexpected {}{}{}", found, of_key, within()));
  }
  void finish_tensor() {
    if (!dtype_ || !shape_ || !offsets_)
      throw_malformed(fmt::format("dtype, shape or data_offsets is missing{}", within()));
    if (offsets_->size() != 2)
      throw_malformed(fmt::format("data_offsets must be two numbers{}", within()));
    header.entries.push_back(
        {tensor_, *dtype_, std::move(*shape_), (*offsets_)[0], (*offsets_)[1]});
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
  }

  Place place_ = Place::outside;
  std::size_t ignored_ = 0;  // depth below an unknown key
  std::string key_, tensor_;
  std::set<std::string> names_, inner_keys_;
  std::optional<std::string> dtype_;
  std::optional<std::vector<std::uint64_t>> shape_, offsets_, numbers_;
};

/// Checks that the bytes between the offsets are the product of the sizes times the bits of the
/// dtype. A product beyond 64 bits would wrap silently, so each multiplication is checked. Numbers
/// of 4 and 6 bits are packed, so only the whole tensor must fill whole bytes.
void check_size(const SafetensorsEntry& entry) {
  std::uint64_t bits = 1;
  for (const std::uint64_t size : entry.shape)
    if (__builtin_mul_overflow(bits, size, &bits))
      throw_malformed(fmt::format("the element count of '{}' overflows", entry.name));
  if (__builtin_mul_overflow(bits, *safetensors_bits(entry.dtype), &bits) || bits % 8 != 0)
    throw_malformed(
        fmt::format("the size of '{}' overflows or is no whole number of bytes", entry.name));
  if (entry.end < entry.begin || entry.end - entry.begin != bits / 8)
    throw_malformed(fmt::format("'{}' needs {}, but its data_offsets are [{}, {}]", entry.name,
                                counted(bits / 8, "byte"), entry.begin, entry.end));
}

}  // namespace

// Empty tensors share their position with the next one. Sorting by the end as well puts them before
// it, so that the walk sees each begin where the previous one ends.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_begin,
                                           std::uint64_t file_bytes) {
  // The parser would skip a byte-order mark and treat NUL as the end of its input.
  if (json.starts_with("\xef\xbb\xbf")) throw_malformed("it begins with a byte-order mark");
  if (json.find('\0') != std::string_view::npos) throw_malformed("it contains a NUL byte");
  HeaderReader reader;
  Json::sax_parse(json, &reader);

  std::vector<SafetensorsEntry>& entries = reader.header.entries;
  std::ranges::sort(entries, {}, [](const SafetensorsEntry& entry) {
    return std::tuple(entry.begin, entry.end, std::string_view(entry.name));
  });
  const std::uint64_t data_bytes = file_bytes - data_begin;
  std::uint64_t reached = 0;
  for (SafetensorsEntry& entry : entries) {
    if (entry.begin != reached)
      throw_malformed(fmt::format("'{}' begins at byte {} of the data, expected {}", entry.name,
                                  entry.begin, reached));
    check_size(entry);
    reached = entry.end;
    if (reached > data_bytes)
      throw_malformed(fmt::format("'{}' ends at byte {} of the data, but the file holds {}",
                                  entry.name, reached, data_bytes));
    entry.begin += data_begin;
    entry.end += data_begin;
  }
  if (reached != data_bytes)
    throw_malformed(fmt::format("the tensors take {}, but the file holds {}",
                                counted(reached, "byte"), data_bytes));
  return std::move(reader.header);
}

}  // namespace penstock::runtime
