#include "layers/models/model_family.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "base/error.h"

namespace penstock::layers {
namespace {

/// Returns true if both have the same type and value.
bool same_value(const KeyValue& a, const KeyValue& b) {
  return std::visit(
      [&b]<class T>(T* value) {
        T* const* other = std::get_if<T*>(&b);
        return other != nullptr && *value == **other;
      },
      a);
}

}  // namespace

void ModelEnds::add_output(std::vector<std::unique_ptr<Layer>>& sequence,
                           LinearOptions options) const {
  options.out = outputs();
  if (loss.projects) {
    sequence.push_back(std::make_unique<Linear>(std::move(options)));
    return;
  }
  if (options.in != options.out)
    throw ShapeError(fmt::format(
        "the encoder has {} channels and the decoder {}, so frames must be projected: leave "
        "decoder.project out, or set decoder.width={}",
        options.in, options.out, options.in));
}

// A copy has options of its own, so a key that is set in one family leaves the other as it is.
ModelFamily::ModelFamily(const ModelFamily& other)
    : options_(other.options_ ? other.options_->copy() : nullptr), kind_(other.kind_) {}

// The argument is already a copy or was moved from, so one function serves both assignments, also
// from itself.
ModelFamily& ModelFamily::operator=(ModelFamily other) noexcept {
  options_ = std::move(other.options_);
  kind_ = std::move(other.kind_);
  return *this;
}

std::string_view ModelFamily::name() const { return options_ ? options_->name() : ""; }

Key ModelFamily::kind_key(std::vector<std::string_view> names) {
  return {"model.kind", &kind_, one_of(std::move(names)), "family of the model"};
}

// An empty family answers as one without keys, since a Config holds one until it is filled.
std::vector<Key> ModelFamily::keys() { return options_ ? options_->keys() : std::vector<Key>(); }

std::vector<Contradiction> ModelFamily::contradictions(int features) const {
  return options_ ? options_->contradictions(features) : std::vector<Contradiction>();
}

ModelFamily ModelFamily::defaults() const { return options_ ? options_->defaults() : *this; }

std::vector<DecoderKind> ModelFamily::decoders() const {
  return options_ ? options_->decoders() : layers::decoders();
}

// Families are equal if they have the same name and equal values of all keys. Keys point to values
// that may be written, so they are taken from copies.
bool ModelFamily::operator==(const ModelFamily& other) const {
  ModelFamily a = *this, b = other;
  return name() == other.name() &&
         std::ranges::equal(a.keys(), b.keys(), same_value, &Key::value, &Key::value);
}

const ModelFamily* find_family(std::span<const ModelFamily> families, std::string_view name) {
  const auto found = std::ranges::find(families, name, &ModelFamily::name);
  return found == families.end() ? nullptr : &*found;
}

}  // namespace penstock::layers
