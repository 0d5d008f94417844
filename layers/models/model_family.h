#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/key.h"
#include "layers/layer.h"

namespace penstock::layers {

/// What a model has at its two ends, whatever its family.
struct ModelEnds {
  int features = 161;  // channels of a frame
  int labels = 29;     // blank included
};

/// All that a struct of options declares to be a family of models: its name, its keys, and the
/// layers from feature frames to the loss that their values make.
template <class T>
concept ModelOptions = std::copyable<T> && std::default_initializable<T> &&
    requires(T options, const T& fixed, const ModelEnds& ends) {
  { T::kind } -> std::convertible_to<std::string_view>;
  { options.keys() } -> std::same_as<std::vector<Key>>;
  { fixed.build(ends) } -> std::same_as<std::vector<std::unique_ptr<Layer>>>;
};

/// And, where values that are each allowed may not go together, what is wrong with them.
template <class T>
concept ChecksItsKeys = requires(const T& options, int features) {
  { options.contradictions(features) } -> std::same_as<std::vector<Contradiction>>;
};

/// The same, but of `Family` itself, which holds options, it is not asked: it is not complete yet.
template <class T, class Family>
concept OptionsOfAnother = !std::same_as<T, Family> && ModelOptions<T>;

/// A family of models with the values of its keys, whatever its options are: what model.kind
/// chooses. A list of families with their defaults is what it chooses from.
class ModelFamily {
 public:
  /// Options whose type is not known here.
  struct Options {
    virtual ~Options() = default;
    virtual std::string_view name() const = 0;
    virtual std::unique_ptr<Options> copy() const = 0;
    virtual ModelFamily defaults() const = 0;
    virtual std::vector<Key> keys() = 0;
    virtual std::vector<Contradiction> contradictions(int features) const = 0;
    virtual std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const = 0;
  };

  /// No family: no keys but model.kind, and nothing to build.
  ModelFamily() = default;
  template <OptionsOfAnother<ModelFamily> T>
  ModelFamily(T options)  // NOLINT: options are all that a family is
      : options_(std::make_unique<Held<T>>(std::move(options))), kind_(T::kind) {}
  ModelFamily(const ModelFamily& other);
  ModelFamily(ModelFamily&&) noexcept = default;
  ModelFamily& operator=(ModelFamily other) noexcept;
  ~ModelFamily() = default;

  /// The value of model.kind; empty of no family.
  std::string_view name() const;
  /// The key model.kind, which takes one of `names`, and the family's own. Bound to this object,
  /// which must outlive them.
  Key kind_key(std::vector<std::string_view> names);
  std::vector<Key> keys();
  std::vector<Contradiction> contradictions(int features) const;
  /// The family with the defaults of its keys.
  ModelFamily defaults() const;
  /// std::bad_cast unless the options are a T.
  template <ModelOptions T>
  T& as() {
    return dynamic_cast<Held<T>&>(*options_).options;
  }
  template <ModelOptions T>
  const T& as() const {
    return dynamic_cast<const Held<T>&>(*options_).options;
  }
  bool operator==(const ModelFamily& other) const;

  /// What the family is asked through, and layers/models/families.h builds it by; null of no
  /// family.
  const Options* options() const { return options_.get(); }

 private:
  template <class T>
  struct Held final : Options {
    explicit Held(T held) : options(std::move(held)) {}
    std::string_view name() const override { return T::kind; }
    std::unique_ptr<Options> copy() const override { return std::make_unique<Held>(options); }
    ModelFamily defaults() const override { return T{}; }
    std::vector<Key> keys() override { return options.keys(); }
    std::vector<Contradiction> contradictions(int features) const override {
      if constexpr (ChecksItsKeys<T>) return options.contradictions(features);
      return {};
    }
    std::vector<std::unique_ptr<Layer>> build(const ModelEnds& ends) const override {
      return options.build(ends);
    }
    T options;
  };

  std::unique_ptr<Options> options_;
  std::string kind_;  // name() as the value of a key
};

/// The family of that name, or null.
const ModelFamily* find_family(std::span<const ModelFamily> families, std::string_view name);

}  // namespace penstock::layers
